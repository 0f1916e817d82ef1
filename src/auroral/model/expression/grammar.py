"""The grammar of Borealis expressions, for Lark's LALR parser.

Loosest to tightest: or, and, !=, =, relational, additive, multiplicative, unary. That `!=` is looser than `=`,
and `=` looser than the relations, is Borealis' own; `not` is a unary sign as in C. An `if` may stand wherever a
value may, and its else takes all that follows: the parser reads on where it could also stop.
"""

GRAMMAR = r"""
aggregate: NAME "(" ")"
         | NAME "(" STAR ")"
         | NAME "(" expression ("," expression)* ")"

?expression: disjunction
?disjunction: conjunction
            | conjunction (OR conjunction)+ -> chain
?conjunction: unequal
            | unequal (AND unequal)+ -> chain
?unequal: equal
        | unequal NE equal -> binary
?equal: relation
      | equal EQ relation -> binary
?relation: sum
         | relation RELATION sum -> binary
?sum: product
    | sum SIGN product -> binary
?product: unary
        | product (STAR | DIVIDE) unary -> binary
?unary: primary
      | (SIGN | NOT) unary -> prefix
?primary: "(" expression ")"
        | IF expression THEN expression ELSE expression -> choice
        | INTEGER -> integer
        | FLOAT -> floating
        | STRING -> string
        | (TRUE | FALSE | NULL) -> word
        | NAME -> name
        | NAME "." NAME -> qualified
        | NAME "." NAME "(" STRING ")" -> qualified_odd
        | NAME ARROW NAME -> arrow
        | NAME "." NAME ARROW NAME -> arrow
        | NAME "(" ")" -> call
        | NAME "(" expression ("," expression)* ")" -> call

IF.3: /if\b/i
THEN.3: /then\b/i
ELSE.3: /else\b/i
OR.3: /or\b/i | "||"
AND.3: /and\b/i | "&&"
NOT.3: /not\b/i | /!(?!=)/
TRUE.3: /true\b/i
FALSE.3: /false\b/i
NULL.3: /null\b/i
NE: "!="
EQ: "==" | "="
RELATION: "<=" | ">=" | "<" | ">"
ARROW.3: "->"
SIGN: "+" | "-"
STAR: "*"
DIVIDE: "/" | "%"
FLOAT.2: /(([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)[fFdD]?(?!\w)|[0-9]+[fFdD](?!\w)/
INTEGER.1: /[0-9]+(?!\w)/
STRING: /"(?:[^"\\]|\\.|"")*"/s | /'(?:[^'\\]|\\.|'')*'/s
NAME: /[^\W\d]\w*/
%ignore /\s+/
"""

# What the parser's terminals are called in messages; several may share a description.
SPOKEN = {
    "IF": "a value",
    "THEN": "then",
    "ELSE": "else",
    "OR": "an operator",
    "AND": "an operator",
    "NOT": "a value",
    "TRUE": "a value",
    "FALSE": "a value",
    "NULL": "a value",
    "NE": "an operator",
    "EQ": "an operator",
    "RELATION": "an operator",
    "ARROW": "an operator",
    "STAR": "an operator",
    "DIVIDE": "an operator",
    "INTEGER": "a value",
    "FLOAT": "a value",
    "STRING": "a value",
    "NAME": "a value",
    "LPAR": "a value",
    "RPAR": "')'",
    "COMMA": "','",
    "DOT": "an operator",
    "$END": "the end",
}
