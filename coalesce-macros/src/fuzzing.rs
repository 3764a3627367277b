//! Fuzzing: what must hold for any tokens in and below the attribute.

use proc_macro2::TokenStream;

/// More than anybody writes, and far from where the parser of expressions runs out of stack.
const LONGEST: usize = 4 * 1024;

/// The first line is what stands in the attribute, the rest the item below it: an expansion that is made of
/// items again, or errors that say something and leave the item where it was.
pub fn attribute(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (arguments, item) = text.split_once('\n').unwrap_or((&text, ""));
    let (Some(arguments), Some(item)) = (tokens(arguments), tokens(item)) else {
        return;
    };
    derived(item.clone());
    let applied = crate::attribute::applied(arguments.clone(), item.clone());
    match crate::attribute::attribute(arguments, item.clone()) {
        Ok(expansion) => {
            // A body is not looked at: what is wrong in there is the compiler's to say.
            let is_function = syn::parse2::<syn::ItemFn>(item).is_ok();
            let is_items = syn::parse2::<syn::File>(expansion.clone()).is_ok();
            assert!(is_items || !is_function, "not made of items: {expansion}");
            assert_eq!(applied.to_string(), expansion.to_string());
        }
        Err(errors) => {
            for error in errors {
                assert!(error.to_string().len() > 5, "{error}");
            }
            assert!(applied.to_string().ends_with(&item.to_string()));
        }
    }
}

/// The item as it stands below a derive: an `impl`, errors, or both.
fn derived(item: TokenStream) {
    let file = syn::parse2::<syn::File>(crate::derive::key_part(item));
    assert!(!file.expect("items").items.is_empty());
}

/// None for what no compiler hands to an attribute: not made of tokens, too long, or nested too deep.
fn tokens(text: &str) -> Option<TokenStream> {
    let opening = text.matches(['(', '[', '{', '<', '&', '-', '!', '*', '|', '=']);
    let fits = text.len() <= LONGEST && opening.count() <= 200;
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// The target takes this crate's modules in one by one.
    #[test]
    fn the_target_has_every_module_of_this_crate() {
        let target = include_str!("../../fuzz/fuzz_targets/attribute.rs");
        let modules = include_str!("lib.rs").lines();
        let modules = modules.filter(|line| line.starts_with("mod ") && *line != "mod tests;");
        assert!(modules.clone().count() > 5);
        for module in modules {
            assert!(target.contains(module), "no {module}");
        }
    }

    #[test]
    fn what_must_hold_for_any_tokens_holds_for_every_seed_and_next_to_it() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/attribute");
        let mut played = 0;
        for seed in fs::read_dir(seeds).unwrap() {
            let seed = fs::read_to_string(seed.unwrap().path()).unwrap();
            super::attribute(seed.as_bytes());
            played += 1;
            // Without any one word, and with any one word twice.
            let words: Vec<_> = seed.split_inclusive([' ', ',', '\n', '(', ')']).collect();
            for at in 0..words.len() {
                let without = [&words[..at], &words[at + 1..]].concat().concat();
                super::attribute(without.as_bytes());
                let twice = [&words[..=at], &words[at..]].concat().concat();
                super::attribute(twice.as_bytes());
            }
        }
        assert!(played >= 12, "only {played} seeds");
    }
}
