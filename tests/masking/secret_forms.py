"""Texts that hold secrets of each kind, and texts that only look like it; made up, all of them."""

import string

from hypothesis import strategies as st

B62 = string.ascii_letters + string.digits
B64URL = B62 + "-_"
HEX = string.digits + "abcdef"


def chars(alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    """A text of these characters that has a digit and a letter twice, as secrets have."""
    filler = "a1" * 2 if set("a1") <= set(alphabet) else "A2" * 2
    return st.text(alphabet, min_size=least - 4, max_size=most - 4).map(lambda text: text + filler)


def prefixed(prefix: str, alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    """Such a text behind `prefix`."""
    return chars(alphabet, least, most).map(lambda text: prefix + text)


def pem(kind: str) -> st.SearchStrategy[str]:
    """A private key as a file of several lines."""
    line = chars(B62 + "+/", 64, 64)
    body = st.lists(line, min_size=1, max_size=5).map("\n".join)
    return body.map(
        lambda text: f"-----BEGIN {kind}PRIVATE KEY-----\n{text}\n-----END {kind}PRIVATE KEY-----"
    )


KNOWN: dict[str, st.SearchStrategy[str]] = {
    "anthropic-key": prefixed("sk-ant-api03-", B64URL, 20, 95),
    "api-key": prefixed("sk-proj-", B62, 40, 120) | prefixed("sk-", B62, 48, 48),
    "stripe-key": prefixed("sk_live_", B62, 24, 40) | prefixed("rk_test_", B62, 24, 40),
    "github-token": st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]).flatmap(
        lambda prefix: prefixed(prefix, B62, 36, 36)
    )
    | prefixed("github_pat_", B62 + "_", 40, 82),
    "gitlab-token": prefixed("glpat-", B64URL, 20, 26),
    "aws-key": st.sampled_from(["AKIA", "ASIA"]).flatmap(
        lambda prefix: prefixed(prefix, string.ascii_uppercase + "234567", 16, 16)
    ),
    "slack-token": st.sampled_from("abprs").flatmap(
        lambda letter: prefixed(f"xox{letter}-", B62 + "-", 20, 70)
    ),
    "google-key": prefixed("AIza", B64URL, 35, 35),
    "google-token": prefixed("ya29.", B64URL, 30, 150),
    "npm-token": prefixed("npm_", B62, 36, 36),
    "pypi-token": prefixed("pypi-AgEIcHlwaS5vcmc", B62, 50, 150),
    "huggingface-token": prefixed("hf_", B62, 34, 34),
    "sendgrid-key": st.tuples(chars(B64URL, 22, 22), chars(B64URL, 43, 43)).map(
        lambda parts: f"SG.{parts[0]}.{parts[1]}"
    ),
    "jwt": st.tuples(*[chars(B64URL, 20, 80)] * 3).map(
        lambda parts: f"eyJ{parts[0]}.eyJ{parts[1]}.{parts[2]}"
    ),
    "private-key": st.sampled_from(["", "RSA ", "EC ", "OPENSSH "]).flatmap(pem),
    "run-token": st.tuples(st.uuids(), chars(HEX, 64, 64)).map(
        lambda parts: f"{str(parts[0])[:14]}7{str(parts[0])[15:]}.{parts[1]}"
    ),
}
"""Secrets that tell by themselves, by the kind that their mask must name."""

NAMES: dict[str, tuple[str, ...]] = {
    "password": ("password", "PASSWD", "db_password", "dbPassword", "passphrase"),
    "api-key": ("api_key", "apiKey", "API_KEY", "X-Api-Key", "aws_secret_access_key", "STRIPE_KEY"),
    "secret": ("client_secret", "clientSecret", "SECRET"),
    "token": ("token", "access_token", "refreshToken", "GITHUB_TOKEN", "auth_token"),
}
BESIDE = (
    "{0}={1}",
    "{0}: {1}",
    "{0} = '{1}'",
    "the {0} is {1}",
    'export {0}="{1}"',
    '{{"{0}": "{1}"}}',
    "{{'{0}': '{1}'}}",
    '"{{\\"{0}\\":\\"{1}\\"}}"',
    "?{0}={1}&next=1",
    "said:\\n{0}={1}\\nand more",
)
"""How a secret without a form of its own stands beside the name that gives it away."""

LOOK_ALIKES = (
    "maxTokens: 4096",
    '{"max_tokens": 4096, "input_tokens": 12, "tokenizer": "cl100k_base"}',
    "the token bucket refills every second",
    "fencing token 17",
    "token: 17",
    '{"token": 17, "tokens": ["a", "b"]}',
    "0193a1b2-0000-7000-8000-0123456789ab",
    "events#97 and competitive-intel#412",
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwA",
    "/home/user/secrets/api_key.txt",
    "password: /etc/shadow",
    "sarah@acme.com",
    "lead:sarah@acme.com",
    "password: required",
    "password=None",
    "password policy: 12 characters",
    "PASSWORD=${DB_PASSWORD}",
    "token=$TOKEN",
    "api_key=YOUR_API_KEY",
    "api_key=os.environ['X']",
    "token = get_token(user)",
    "the secret: sauce",
    "api key: see page 12",
    "cost per token: $0.00001",
    "token: 2024-11-30T12:00:00",
    "password_hash: 5f4dcc3b5aa765d61d8327deb882cf99",
    "primary_key: id_12345678",
    "public_key: MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A",
    "hotkey=ctrl+k, monkey: banana12, bypass=abc123",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END CERTIFICATE-----",
    "bearer of good news",
    "risk-management-and-more-words",
    "sk-loading-indicator-item",
    "https://example.com:8080/a@b",
    "https://user@example.com/x",
    "npm_config_registry=https://registry.npmjs.org",
    "hf_hub_download and pypi-publish-action",
    "[masked:api-key]",
)
