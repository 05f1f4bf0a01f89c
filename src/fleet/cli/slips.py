"""What models type instead of what there is, as data: words, options, and what they meant.

The engine is `meant`. Only lines that failed are looked up, so a rule need not fear a right one.
"""

KINDS = {
    "ANY": r".+",
    "NEW": r"(?!(?:add|drop|progress|achieve|abandon)$).+",
    "TEXT": r".*\s.*",
    "PLAIN": r"[^-\s#][^\s#]*",
    "OTHER": r"[^-\s]\S*",
    "NAME": r"[a-z][a-z0-9_+-]*",
    "SUBJECT": r"(?!(?:record|show|list)$)[^-\s]\S*",
    "N": r"\d+",
    "REF": r"\S+#\d+",
    "ITEM": r"[LGRPSWlgrpsw]\d+",
    **{f"ITEM-{letter}": f"[{letter}{letter.lower()}]\\d+" for letter in "LGRPSW"},
    "SECTION": "lesson|goal|research|strength|weakness",
    "CATEGORY": "success|failure|observation|improvement",
    "REACTION": "agree|disagree|important",
    "LISTED": "inbox|channels|agents|events|claims",
}
"""What a word in capitals stands for in a rule: every word of that form."""

RULES = """
help|list|ls                                   > --help
help|man PLAIN *                               > PLAIN --help
--version|-v|-V|upgrade                        > version

publish|signal|trigger *                       > emit *
event|events show|get REF                      > show REF
event|events show|get N                        > show events#N
event|events list|ls|all|show *                > events *
event|events emit|add *                        > emit *
event *                                        > events *
events PLAIN                                   > events --type PLAIN
subscribe *                                    > events --type *
types|schemas                                  > schema list
schemas *                                      > schema *
schema ls|all|types|show                       > schema list
schema list|get|describe PLAIN                 > schema show PLAIN
schema SUBJECT                                 > schema show SUBJECT
show PLAIN N                                   > show PLAIN#N
get|cat|view|open|read|message|messages REF    > show REF
grep|lookup +                                  > find +

channel|channels list|ls|all|show              > channels
read|list|ls LISTED                            > LISTED
read|list|ls memory|lessons|goals              > memory show
read                                           > read CHANNEL
read --unread                                  > read CHANNEL --unread
read PLAIN N                                   > read PLAIN --limit N
post TEXT PLAIN                                > post PLAIN TEXT
say|write|broadcast|announce ANY               > post CHANNEL ANY
say|write|broadcast|announce *                 > post *
respond *                                      > reply *
reply NAME N +                                 > reply NAME#N +
react REACTION REF                             > react REF REACTION
react REF like|yes|ok|up|+1|👍                 > react REF agree
inbox list|ls|read|show|check|unread           > inbox
messages|unread|mail|dms                       > inbox
messages *                                     > read *
send TEXT PLAIN                                > send PLAIN TEXT
tell|notify|ping|handoff|contact|pm PLAIN      > send PLAIN TEXT
tell|notify|ping|handoff|contact|pm PLAIN +    > send PLAIN +

question|approval|approve|confirm +            > ask +
ask operator|human|user|person +               > ask +
ask NAME TEXT                                  > send NAME TEXT
ask TEXT PLAIN OTHER                           > ask TEXT --options PLAIN,OTHER
reminder|snooze|followup|follow-up *           > remind *
remind me|in *                                 > remind *
remind N day|days to|that +                    > remind Nd +
remind N day|days +                            > remind Nd +
remind N hour|hours to|that +                  > remind Nh +
remind N hour|hours +                          > remind Nh +
remind N minute|minutes to|that +              > remind Nm +
remind N minute|minutes +                      > remind Nm +
remind tomorrow +                              > remind 1d +
remind list|ls|show|all                        > remind
remind PLAIN to|that +                         > remind PLAIN +
remind TEXT PLAIN                              > remind PLAIN TEXT
remind TEXT                                    > remind 3d TEXT

locks *                                        > claims *
release|renew PLAIN OTHER                      > release PLAIN:OTHER

who|whois                                      > whoami
who|agents can|knows +                         > agents --can +
team|teammates|peers                           > agents
agent|agents|team list|ls|all                  > agents
agent|agents|team show|get|find PLAIN          > agents --can PLAIN
agents|team|who PLAIN                          > agents --can PLAIN

memories|notes                                 > memory show
memory list|ls|get|read|view|all               > memory show
memory lessons|goals|plans|strengths|weaknesses > memory show
memory search|find|query *                     > find *
memory show ITEM                               > show ITEM
memory show PLAIN                              > memory show --agent PLAIN
memory add|write|save|note|remember plan *     > memory plan add *
memory add|write|save|note|remember SECTION *  > SECTION add *
memory SECTION *                               > SECTION *
memory delete|drop|remove|forget ITEM-L        > lesson drop ITEM-L
memory delete|drop|remove|forget ITEM-G        > goal abandon ITEM-G
memory delete|drop|remove|forget ITEM-R        > research drop ITEM-R
memory delete|drop|remove|forget ITEM-P        > memory plan drop ITEM-P
memory delete|drop|remove|forget ITEM-S        > strength drop ITEM-S
memory delete|drop|remove|forget ITEM-W        > weakness drop ITEM-W
remember|learn|note SECTION *                  > SECTION add *
note ITEM-P *                                  > memory plan note ITEM-P *
todo ANY                                       > memory plan add ANY
lessons|goals|strengths|weaknesses             > memory show
lessons *                                      > lesson *
goals *                                        > goal *
strengths *                                    > strength *
weaknesses *                                   > weakness *
plan|plans *                                   > memory plan *
SECTION list|ls|show|get|view|all|status       > memory show
SECTION list|ls|show|get|view ITEM             > show ITEM
SECTION new|create|save|record|set|learned *   > SECTION add *
lesson TEXT CATEGORY                           > lesson add TEXT --category CATEGORY
lesson add CATEGORY ANY                        > lesson add ANY --category CATEGORY
lesson drop N                                  > lesson drop LN
goal PLAIN N *                                 > goal PLAIN GN *
memory plan PLAIN N *                          > memory plan PLAIN PN *
goal ITEM-G PLAIN *                            > goal PLAIN ITEM-G *
goal done|complete|finish|reach|achieved *     > goal achieve *
goal update|note *                             > goal progress *
goal delete|drop|remove|cancel *               > goal abandon *
goal progress TEXT                             > goal progress G3 TEXT
SECTION delete|remove|rm|forget *              > SECTION drop *
research NEW                                   > research add NEW --source SOURCE
research add ANY                               > research add ANY --source SOURCE
SECTION NEW                                    > SECTION add NEW
SECTION TEXT *                                 > SECTION add TEXT *
memory plan                                    > memory show
memory plan list|ls|show|get|view|all|status   > memory show
memory plan new|create|save *                  > memory plan add *
memory plan ITEM-P PLAIN *                     > memory plan PLAIN ITEM-P *
memory plan update|progress *                  > memory plan note *
memory plan delete|remove|done|complete|finish * > memory plan drop *
memory plan TEXT                               > memory plan add TEXT

metrics|stats                                  > metric show
metrics|stats *                                > metric *
metric list|ls|get|view|all *                  > metric show *
metric add|log|set|write|track *               > metric record *
metric SUBJECT OTHER N                         > metric record SUBJECT OTHER N

idle                                           > report --idle REASON
idle +                                         > report --idle +
report idle                                    > report --idle REASON
finish|complete|summary|standup|end            > report TEXT
finish|complete|summary|standup|end +          > report +
"""
"""`what is typed > what is meant`, tried from above, again and again until none fits.

`a|b` is either word, `*` all that follows, `+` the same as one text. What stands in capitals on the
right and not on the left is left to the caller, but `CHANNEL` is his first one.
"""

IN_A_RUN = """
log +                                          > report +
log|history|timeline|activity *                > events
undo|delete|unsend *                           > send operator TEXT
task|tasks *                                   > events
questions|answers                              > events
--version|-v|-V                                > --help
"""

BY_PEOPLE = """
questions|question|asks|approvals              > answer
approve|accept REF                             > answer REF yes
reject|deny|decline REF                        > answer REF no
retry|redeliver REF                            > deadletters retry REF
deadletter|dead-letters|dlq *                  > deadletters *
deadletters show|ls|all                        > deadletters list
history|activity                               > timeline
log *                                          > logs *
undo|delete|unsend REF                         > retract REF --reason TEXT
start                                          > up
lint|validate                                  > check
"""

OPTIONS = """
post|reply|send|report|lesson add|goal add|research add    LAST  --text --message --body -m
post                       FIRST         --channel --to
send                       FIRST         --to --agent
reply|react|pin|ack|show   FIRST         --ref --to
claim|renew|release        FIRST         --key --name --resource
claim                      --ttl         --duration --for --timeout --expires
claim                      --note        --reason --message
emit                       FIRST         --type --event
ask                        LAST          --text --message --question -m
ask                        --options     --option --choices --answers -o
remind                     LAST          --text --message -m
remind                     FIRST         --in --at --when --after --on
answer                     FIRST         --ref --question
answer                     LAST          --option --answer
answer                     --note        --reason --message -m
read|events|inbox|claims|find|memory show|metric show   --limit   -n --count --max --last --top
inbox|claims|agents        LEFT          --unread --new --mine --list
lesson add                 --category    --type --kind
lesson add                 --importance  --priority --severity
lesson add                 GONE          --tags --tag --confidence --context
research add               --source      --url --link --from --ref -s
report                     LAST          --summary
report                     GONE          --status --outcome
report                     --next        --todo --plan
goal progress              --value       --progress --percent --number
agents                     --can         --for --skill --search --query --who
find                       FIRST         --query --text -q
find                       --in          --channel
find                       --agent       --author --from
"""
"""`commands`, what is meant, and the options that are typed instead.

FIRST and LAST are the first and the last argument; LEFT is left out, GONE with its value.
"""
