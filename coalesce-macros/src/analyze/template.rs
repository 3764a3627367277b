//! Key templates: `"{tenant}/{req.id}"` taken apart.

use syn::{Error, Expr, LitStr};

use super::Piece;

/// The pieces of a template. Holes are expressions; text between them is plain.
pub(crate) fn split(template: &LitStr) -> syn::Result<Vec<Piece>> {
    let text = template.value();
    let refuse = |message: String| Error::new(template.span(), message);
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(['{', '}']).unwrap_or(rest.len());
        let (plain, tail) = rest.split_at(end);
        if !plain.is_empty() {
            check_text(plain).map_err(refuse)?;
            pieces.push(Piece::Text(LitStr::new(plain, template.span())));
        }
        rest = tail;
        if rest.is_empty() {
            break;
        }
        let hole = matching_hole(rest).map_err(refuse)?;
        if matches!(pieces.last(), Some(Piece::Hole(_))) {
            return Err(refuse(format!(
                "nothing separates `{{{hole}}}` from the hole before it, so different values \
                 could give one key: put a character such as `/` between them",
            )));
        }
        pieces.push(Piece::Hole(Box::new(expression(hole, template)?)));
        rest = &rest[hole.len() + 2..];
    }
    if pieces.is_empty() {
        return Err(refuse(
            "an empty template names nothing: write `key = ()`".to_owned(),
        ));
    }
    Ok(pieces)
}

/// The inside of the hole that `rest` starts with.
fn matching_hole(rest: &str) -> Result<&str, String> {
    const RULE: &str = "braces stand around the holes of a template and nowhere else";
    if rest.starts_with("{{") {
        return Err(format!("`{{{{` is not a way to write a brace: {RULE}"));
    }
    let mut depth = 0_usize;
    for (index, letter) in rest.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' if depth == 1 => return Ok(&rest[1..index]),
            '}' => depth -= 1,
            _ => {}
        }
    }
    let problem = if rest.starts_with('{') {
        "`{` is never closed"
    } else {
        "`}` closes nothing"
    };
    Err(format!(
        "{problem}: braces stand around the holes of a template and nowhere else"
    ))
}

fn expression(hole: &str, template: &LitStr) -> syn::Result<Expr> {
    let refuse = |message: String| Error::new(template.span(), message);
    if hole.trim().is_empty() {
        return Err(refuse(
            "an empty hole names nothing: write `{order_id}`".to_owned(),
        ));
    }
    // Parsed through a literal with the template's span: the names in a hole are looked up where
    // the template was written, also inside `macro_rules!`.
    LitStr::new(hole, template.span()).parse().map_err(|_| {
        let message = if hole.contains(':') {
            format!("`{{{hole}}}` is not an expression; a hole takes no format such as `:?`")
        } else {
            format!("`{{{hole}}}` is not an expression")
        };
        refuse(message)
    })
}

/// Text is printed into the key as it is, next to holes that are escaped.
fn check_text(text: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !matches!(letter, '%' | '~');
    match text.chars().find(|letter| !is_plain(*letter)) {
        None => Ok(()),
        Some(letter) => Err(format!(
            "{letter:?} cannot stand in the text of a template: use visible ASCII characters \
             other than `%`, `~` and braces",
        )),
    }
}
