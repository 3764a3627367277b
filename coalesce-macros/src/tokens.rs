//! Questions about tokens that nobody has parsed: which names they mention, what they borrow.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Lit;
use syn::ext::IdentExt;

/// Whether `tokens` may mention the variable `name`, also in format strings such as `"{name}"`.
///
/// Nothing that does is missed; fields and paths of the same name are taken for mentions.
pub(crate) fn mention(tokens: &TokenStream, name: &Ident) -> bool {
    search(tokens.clone(), &name.unraw().to_string(), false, &|_, _| {
        true
    })
}

/// Whether `tokens`, an expression, use the variable `name`.
///
/// In `req.id`, `id::<u64>()`, `Order { id: 1 }` and `id!()` there is no variable `id`.
pub(crate) fn uses(tokens: &TokenStream, name: &Ident) -> bool {
    search(
        tokens.clone(),
        &name.unraw().to_string(),
        false,
        &is_variable,
    )
}

/// Whether `tokens`, the body of a function called `name`, may call that function.
///
/// `name(…)`, `Self::name(…)` and `self.name(…)` may, `self.map.name(…)` does not.
pub(crate) fn calls(tokens: &TokenStream, name: &Ident) -> bool {
    search(
        tokens.clone(),
        &name.unraw().to_string(),
        false,
        &is_own_call,
    )
}

fn is_own_call(before: &[TokenTree], after: &[TokenTree]) -> bool {
    let of_another = match before {
        [.., owner, dot] if is_punct(dot, '.') => !is_word(owner, "self"),
        [.., owner, colon, last] if is_punct(colon, ':') && is_punct(last, ':') => !may_own(owner),
        [.., last] => is_word(last, "fn"),
        [] => false,
    };
    let is_called = match after {
        [TokenTree::Group(group), ..] => group.delimiter() == Delimiter::Parenthesis,
        [colon, last, open, ..] => {
            is_punct(colon, ':') && is_punct(last, ':') && is_punct(open, '<')
        }
        _ => false,
    };
    is_called && !of_another
}

/// Whether a function behind `owner::` may be the one that is meant: a module's is another one.
fn may_own(owner: &TokenTree) -> bool {
    match owner {
        TokenTree::Ident(name) => {
            let name = name.to_string();
            ["self", "super", "crate"].contains(&name.as_str())
                || name.starts_with(char::is_uppercase)
        }
        owner => is_punct(owner, '>'),
    }
}

type Accepts<'a> = &'a dyn Fn(&[TokenTree], &[TokenTree]) -> bool;

/// Looks for `name` among identifiers that are accepted in their surroundings, and in what format
/// strings capture.
fn search(tokens: TokenStream, name: &str, in_macro: bool, accepts: Accepts<'_>) -> bool {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    trees.iter().enumerate().any(|(index, tree)| {
        let (before, after) = (&trees[..index], &trees[index + 1..]);
        match tree {
            TokenTree::Ident(ident) => ident.unraw() == name && accepts(before, after),
            TokenTree::Group(group) => {
                let behind_bang = before.last().is_some_and(|last| is_punct(last, '!'));
                search(group.stream(), name, in_macro || behind_bang, accepts)
            }
            TokenTree::Literal(literal) if in_macro => {
                string(literal).is_some_and(|text| captured_names(&text).any(|each| each == name))
            }
            TokenTree::Literal(_) | TokenTree::Punct(_) => false,
        }
    })
}

/// Whether an identifier between `before` and `after` can be a variable.
fn is_variable(before: &[TokenTree], after: &[TokenTree]) -> bool {
    let is_member = match before {
        // The end of a range: `0..id`, `..id`.
        [.., first, second] if is_punct(first, '.') && is_punct(second, '.') => false,
        [.., last] => is_punct(last, '.') || is_punct(last, ':') && !follows_a_field_name(before),
        [] => false,
    };
    let is_name = match after {
        [equal, next, ..] if is_punct(equal, '!') => !is_punct(next, '='),
        [colon, ..] => is_punct(colon, ':'),
        [] => false,
    };
    !is_member && !is_name
}

/// Whether what follows is the value of a field: `Order { number: id }`, but not `order::id`.
fn follows_a_field_name(before: &[TokenTree]) -> bool {
    match before {
        [.., name, colon] => matches!(name, TokenTree::Ident(_)) && is_punct(colon, ':'),
        _ => false,
    }
}

/// The variables that a format string captures: `id` and `name` in `"{id} {name:?} {0} {{x}}"`.
pub(crate) fn captured_names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find('{')? + 1;
        rest = &rest[start..];
        if let Some(escaped) = rest.strip_prefix('{') {
            rest = escaped;
            return Some("");
        }
        let end = rest.find(|letter: char| letter != '_' && !letter.is_alphanumeric())?;
        let (name, tail) = rest.split_at(end);
        rest = tail;
        Some(name)
    })
    .filter(|name| !name.is_empty())
}

/// The value of a string literal.
pub(crate) fn string(literal: &Literal) -> Option<String> {
    match Lit::new(literal.clone()) {
        Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// Where `tokens`, a type, borrow something that may end: a reference or a named lifetime.
///
/// `'static` borrows nothing, and what is borrowed inside `Fn(&str)` belongs to its caller.
pub(crate) fn borrow(tokens: &TokenStream) -> Option<Span> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut index = 0;
    while index < trees.len() {
        match &trees[index] {
            TokenTree::Group(group) if !is_argument_list(group, trees[..index].last()) => {
                if let Some(span) = borrow(&group.stream()) {
                    return Some(span);
                }
            }
            tree if is_punct(tree, '&') => {
                if !is_static(&trees[index + 1..]) {
                    return Some(tree.span());
                }
                index += 2;
            }
            tree if is_punct(tree, '\'') => {
                if !is_static(&trees[index..]) {
                    return Some(tree.span());
                }
                index += 1;
            }
            tree if is_word(tree, "for") => index = end_of_angles(&trees, index + 1),
            _ => {}
        }
        index += 1;
    }
    None
}

/// Where `word` stands in `tokens`.
pub(crate) fn word(tokens: &TokenStream, word: &str) -> Option<Span> {
    tokens.clone().into_iter().find_map(|tree| match &tree {
        TokenTree::Group(group) => self::word(&group.stream(), word),
        tree => is_word(tree, word).then(|| tree.span()),
    })
}

/// `tokens`, shown to whoever meets them in an error as what stands at `span`.
pub(crate) fn at(span: Span, tokens: &impl ToTokens) -> TokenStream {
    let trees = tokens.to_token_stream().into_iter().map(|mut tree| {
        tree.set_span(tree.span().located_at(span));
        tree
    });
    trees.collect()
}

/// Whether `tree` is the punctuation `expected`.
pub(crate) fn is_punct(tree: &TokenTree, expected: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == expected)
}

/// Whether `tree` is the keyword or name `expected`.
pub(crate) fn is_word(tree: &TokenTree, expected: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == expected)
}

fn is_static(trees: &[TokenTree]) -> bool {
    matches!(trees, [tick, name, ..] if is_punct(tick, '\'') && is_word(name, "static"))
}

fn is_argument_list(group: &Group, before: Option<&TokenTree>) -> bool {
    const CALLABLE: [&str; 7] = [
        "fn",
        "Fn",
        "FnMut",
        "FnOnce",
        "AsyncFn",
        "AsyncFnMut",
        "AsyncFnOnce",
    ];
    let callable = |tree: &TokenTree| CALLABLE.iter().any(|word| is_word(tree, word));
    group.delimiter() == Delimiter::Parenthesis && before.is_some_and(callable)
}

/// The index of the `>` that closes the `<` at `start`, or `start` if there is none.
fn end_of_angles(trees: &[TokenTree], start: usize) -> usize {
    let closing = trees[start.min(trees.len())..]
        .iter()
        .position(|tree| is_punct(tree, '>'));
    closing.map_or(start, |offset| start + offset)
}
