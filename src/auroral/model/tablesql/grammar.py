"""The grammar of table SQL, for Lark's LALR parser: statements around the expressions of `expression.grammar`.

Words of SQL are no names only where they can stand: a field may be called `set` or `limit`.
"""

from auroral.model.expression.grammar import GRAMMAR as EXPRESSIONS

GRAMMAR = (
    r"""
statement: (insert | select | update | delete) ";"?

insert: INSERT INTO table fields? VALUES "(" expression ("," expression)* ")"
fields: "(" word ("," word)* ")"
select: SELECT items FROM table where? order? limit?
items: item ("," item)*
item: STAR -> all
    | NAME "." STAR -> all_of
    | expression -> bare_item
    | expression AS? word -> named_item
where: WHERE expression
order: ORDER BY key ("," key)*
key: expression (ASC | DESC)?
limit: LIMIT INTEGER
update: UPDATE table SET assignment ("," assignment)* where?
assignment: word EQ expression
delete: DELETE FROM table where?
table: NAME -> plain_word
word: NAME -> plain_word
    | NAME "(" STRING ")" -> odd_word

INSERT.4: /insert\b/i
INTO.4: /into\b/i
VALUES.4: /values\b/i
SELECT.4: /select\b/i
FROM.4: /from\b/i
WHERE.4: /where\b/i
ORDER.4: /order\b/i
BY.4: /by\b/i
ASC.4: /asc\b/i
DESC.4: /desc\b/i
LIMIT.4: /limit\b/i
UPDATE.4: /update\b/i
SET.4: /set\b/i
DELETE.4: /delete\b/i
AS.4: /as\b/i
"""
    + EXPRESSIONS
)

SPOKEN = {
    name: name.lower()
    for name in (
        *(
            "INSERT",
            "INTO",
            "VALUES",
            "SELECT",
            "FROM",
            "WHERE",
            "ORDER",
            "BY",
            "ASC",
            "DESC",
            "LIMIT",
            "UPDATE",
            "SET",
        ),
        *("DELETE", "AS"),
    )
}
