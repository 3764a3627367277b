//! Golden expansions: for representative functions, exactly what their users get.
//!
//! Each file in `goldens/` holds a module `before` and a module `after`. Run the tests with
//! `UPDATE_GOLDENS=1` to write `after` anew, and read the difference.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, File, ImplItem, Item, ItemMod, Meta, TraitItem};

#[test]
fn every_golden_file_shows_what_the_attribute_expands_to() {
    let update = env::var_os("UPDATE_GOLDENS").is_some();
    let mut different = Vec::new();
    for path in golden_files() {
        let written = fs::read_to_string(&path).expect("a golden file can be read");
        let current = with_current_expansion(&written);
        if update {
            fs::write(&path, current).expect("a golden file can be written");
        } else if written != current {
            different.push(format!("{}\n{current}", path.display()));
        }
    }
    assert!(
        different.is_empty(),
        "these expansions have changed; UPDATE_GOLDENS=1 writes them: {}",
        different.join("\n"),
    );
}

fn golden_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the goldens are beside the sources")
        .map(|entry| entry.expect("the folder can be listed").path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn with_current_expansion(written: &str) -> String {
    let mut file: File = syn::parse_str(written).expect("a golden file is Rust");
    let before = file.items.iter().find_map(|item| match item {
        Item::Mod(module) if module.ident == "before" => Some(module.clone()),
        _ => None,
    });
    let before = before.expect("a golden file has a module `before`");
    let mut after = before.clone();
    after.ident = quote::format_ident!("after");
    expand_module(&mut after);
    file.items = vec![Item::Mod(before), Item::Mod(after)];
    prettyplease::unparse(&file)
}

fn expand_module(module: &mut ItemMod) {
    let Some((_, items)) = &mut module.content else {
        return;
    };
    let mut expanded = Vec::new();
    for item in items.drain(..) {
        match item {
            Item::Fn(mut function) => match take_attribute(&mut function.attrs) {
                Some(arguments) => {
                    let tokens = expansion(arguments, function.to_token_stream());
                    expanded.extend(parse_items(tokens));
                }
                None => expanded.push(Item::Fn(function)),
            },
            Item::Impl(mut block) => {
                block.items = block.items.drain(..).flat_map(expand_method).collect();
                expanded.push(Item::Impl(block));
            }
            Item::Trait(mut block) => {
                block.items = block
                    .items
                    .drain(..)
                    .flat_map(expand_default_method)
                    .collect();
                expanded.push(Item::Trait(block));
            }
            other => expanded.push(other),
        }
    }
    *items = expanded;
}

fn expand_method(item: ImplItem) -> Vec<ImplItem> {
    let ImplItem::Fn(mut method) = item else {
        return vec![item];
    };
    let Some(arguments) = take_attribute(&mut method.attrs) else {
        return vec![ImplItem::Fn(method)];
    };
    let tokens = expansion(arguments, method.to_token_stream());
    let block: syn::ItemImpl =
        syn::parse2(quote!(impl X { #tokens })).expect("an expansion is made of methods");
    block.items
}

fn expand_default_method(item: TraitItem) -> Vec<TraitItem> {
    let TraitItem::Fn(mut method) = item else {
        return vec![item];
    };
    let Some(arguments) = take_attribute(&mut method.attrs) else {
        return vec![TraitItem::Fn(method)];
    };
    let tokens = expansion(arguments, method.to_token_stream());
    let block: syn::ItemTrait =
        syn::parse2(quote!(trait X { #tokens })).expect("an expansion is made of methods");
    block.items
}

fn parse_items(tokens: TokenStream) -> Vec<Item> {
    let file: File = syn::parse2(tokens).expect("an expansion is made of items");
    file.items
}

fn expansion(arguments: TokenStream, item: TokenStream) -> TokenStream {
    crate::attribute::attribute(arguments, item).expect("a golden function is legal")
}

/// Removes `#[coalesce(…)]` and gives what stands in its parentheses.
fn take_attribute(attrs: &mut Vec<Attribute>) -> Option<TokenStream> {
    let index = attrs
        .iter()
        .position(|attr| attr.path().is_ident("coalesce"))?;
    match attrs.remove(index).meta {
        Meta::List(list) => Some(list.tokens),
        Meta::Path(_) => Some(TokenStream::new()),
        Meta::NameValue(_) => None,
    }
}
