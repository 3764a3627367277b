//! A body whose `self` is a local variable.

use std::iter::Peekable;

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree, token_stream};
use syn::Ident;

use crate::names::{OWNED_SELF, owned_self};
use crate::tokens::{captured_names, is_punct, is_word, string};

/// Replaces `self` by a local variable; nothing if there is none to replace.
///
/// This works on tokens because `self` is also found inside macro calls, in `macro_rules!` that
/// the body defines, and in format strings: `vec![self.id]`, `"{self}"`. It stays where it means
/// something else: in paths (`self::id()`), in imports, and in functions inside the body.
pub(crate) fn rewrite(body: &Group) -> Option<Group> {
    let mut rewriter = Rewriter { found: false };
    let rewritten = rewriter.group(body, &[]);
    rewriter.found.then_some(rewritten)
}

struct Rewriter {
    found: bool,
}

type Trees = Peekable<token_stream::IntoIter>;

impl Rewriter {
    fn stream(&mut self, tokens: TokenStream, in_format: bool) -> TokenStream {
        let mut output = Vec::new();
        let mut trees = tokens.into_iter().peekable();
        while let Some(tree) = trees.next() {
            let is_item = is_word(&tree, "use") || is_function(&tree, &mut trees);
            let tree = match tree {
                TokenTree::Ident(ident) if ident == "self" => {
                    self.variable(ident, trees.peek()).into()
                }
                TokenTree::Group(group) => self.group(&group, &output).into(),
                TokenTree::Literal(literal) if in_format => self.format(literal).into(),
                other => other,
            };
            output.push(tree);
            if is_item {
                pass_item(&mut trees, &mut output);
            }
        }
        output.into_iter().collect()
    }

    fn variable(&mut self, ident: Ident, next: Option<&TokenTree>) -> Ident {
        let is_path = matches!(next, Some(TokenTree::Punct(punct))
            if punct.as_char() == ':' && punct.spacing() == proc_macro2::Spacing::Joint);
        if is_path {
            return ident;
        }
        self.found = true;
        owned_self(ident.span())
    }

    fn group(&mut self, group: &Group, before: &[TokenTree]) -> Group {
        let (in_format, is_visibility) = match before {
            [.., name, bang] if is_punct(bang, '!') => (takes_format(name), false),
            [.., last] => (false, is_word(last, "pub")),
            [] => (false, false),
        };
        if is_visibility {
            return group.clone();
        }
        let mut rewritten = Group::new(group.delimiter(), self.stream(group.stream(), in_format));
        rewritten.set_span(group.span());
        rewritten
    }

    fn format(&mut self, literal: Literal) -> Literal {
        let Some(text) = string(&literal) else {
            return literal;
        };
        if !captured_names(&text).any(|name| name == "self") {
            return literal;
        }
        self.found = true;
        let mut rewritten = Literal::string(&rename_capture(&text));
        rewritten.set_span(literal.span());
        rewritten
    }
}

/// `{self` becomes `{__coalesce_self`, but not in `{{self`.
fn rename_capture(text: &str) -> String {
    let renamed = format!("{{{OWNED_SELF}");
    let escaped = text.split("{{");
    let parts: Vec<String> = escaped
        .map(|part| part.replace("{self", &renamed))
        .collect();
    parts.join("{{")
}

/// Whether a function with a name starts here; `fn(u64)` is only a type.
fn is_function(tree: &TokenTree, trees: &mut Trees) -> bool {
    is_word(tree, "fn") && matches!(trees.peek(), Some(TokenTree::Ident(_)))
}

/// Copies tokens up to the end of an item, whose `self` is its own.
fn pass_item(trees: &mut Trees, output: &mut Vec<TokenTree>) {
    for tree in trees {
        let is_end = is_punct(&tree, ';')
            || matches!(&tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        output.push(tree);
        if is_end {
            return;
        }
    }
}

/// Whether the macro `name` takes a format string that may capture variables.
fn takes_format(name: &TokenTree) -> bool {
    const FORMATTING: [&str; 29] = [
        "format",
        "format_args",
        "print",
        "println",
        "eprint",
        "eprintln",
        "write",
        "writeln",
        "panic",
        "todo",
        "unimplemented",
        "unreachable",
        "assert",
        "assert_eq",
        "assert_ne",
        "debug_assert",
        "debug_assert_eq",
        "debug_assert_ne",
        "trace",
        "debug",
        "info",
        "warn",
        "error",
        "log",
        "event",
        "span",
        "anyhow",
        "bail",
        "ensure",
    ];
    FORMATTING.iter().any(|word| is_word(name, word))
}
