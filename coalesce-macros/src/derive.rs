//! `#[derive(KeyPart)]`: structs as records or groups, enums as variants.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Fields, Path, parse_quote};

use crate::diagnostics::{Diagnostics, beside};

/// The implementation for a type.
///
/// ```text
/// struct Sku { shop: u32, code: String }
/// enum Payment { Cash, Card(u64) }
/// ```
///
/// become
///
/// ```text
/// match self {
///     Self { shop: field_0, code: field_1 } => out.record(&[("shop", field_0), ("code", field_1)]),
/// }
/// match self {
///     Self::Cash => out.variant("Cash", |_| {}),
///     Self::Card(field_0) => out.variant("Card", |out| out.group(&[field_0])),
/// }
/// ```
pub(crate) fn key_part(input: TokenStream) -> TokenStream {
    let input = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut diagnostics = Diagnostics::default();
    let root = root(&input, &mut diagnostics);
    let body = diagnostics.keep(body(&input.data));
    match diagnostics.finish(body) {
        Ok(body) => implementation(&root, input, &body),
        // What is refused is a key part to the rest of the program: one error is enough.
        Err(errors) => {
            let body = quote!(::core::unreachable!());
            beside(&errors, implementation(&root, input, &body))
        }
    }
}

/// The implementation with that body.
fn implementation(root: &Path, mut input: DeriveInput, body: &TokenStream) -> TokenStream {
    let bounds: Vec<_> = input
        .generics
        .type_params()
        .map(|it| it.ident.clone())
        .collect();
    for parameter in bounds {
        let predicate = parse_quote!(#parameter: #root::__private::KeyPart);
        input
            .generics
            .make_where_clause()
            .predicates
            .push(predicate);
    }
    let name = &input.ident;
    let (generics, arguments, where_clause) = input.generics.split_for_impl();
    let out = out();
    quote! {
        #[automatically_derived]
        impl #generics #root::__private::KeyPart for #name #arguments #where_clause {
            fn write(&self, #out: &mut #root::__private::KeyWriter<'_>) {
                #body
            }
        }
    }
}

/// The path of the library: `#[key(crate = …)]`, or its usual name.
fn root(input: &DeriveInput, diagnostics: &mut Diagnostics) -> Path {
    let mut root = parse_quote!(::coalesce);
    for attr in input
        .attrs
        .iter()
        .filter(|attr| attr.path().is_ident("key"))
    {
        let read = attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                let message = "`#[key(…)]` has one option: `crate = my_crate::coalesce`";
                return Err(Error::new_spanned(&meta.path, message));
            }
            root = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        });
        diagnostics.keep(read);
    }
    for attr in attributes_inside(&input.data) {
        let message = "a key part is written whole: take the field out of the type, or implement \
                       `KeyPart` by hand";
        diagnostics.refuse(attr, message);
    }
    root
}

/// The `#[key(…)]`s on fields and variants, none of which means anything.
fn attributes_inside(data: &Data) -> impl Iterator<Item = &syn::Attribute> {
    let (fields, variants) = match data {
        Data::Struct(data) => (vec![&data.fields], None),
        Data::Enum(data) => {
            let fields = data
                .variants
                .iter()
                .map(|variant| &variant.fields)
                .collect();
            (fields, Some(&data.variants))
        }
        Data::Union(_) => (Vec::new(), None),
    };
    let on_fields = fields.into_iter().flatten().flat_map(|field| &field.attrs);
    let on_variants = variants
        .into_iter()
        .flatten()
        .flat_map(|variant| &variant.attrs);
    on_fields
        .chain(on_variants)
        .filter(|attr| attr.path().is_ident("key"))
}

fn body(data: &Data) -> syn::Result<TokenStream> {
    match data {
        Data::Struct(data) => {
            let (pattern, content) = (pattern(&data.fields), struct_content(&data.fields));
            Ok(quote!(match self { Self #pattern => #content }))
        }
        Data::Enum(data) if data.variants.is_empty() => Ok(quote!(match *self {})),
        Data::Enum(data) => {
            let arms = data.variants.iter().map(|variant| {
                let name = &variant.ident;
                let (text, out) = (name.unraw().to_string(), out());
                let pattern = pattern(&variant.fields);
                let content = match &variant.fields {
                    Fields::Unit => quote!(|_| {}),
                    fields => {
                        let content = content(fields);
                        quote!(|#out| #content)
                    }
                };
                quote!(Self::#name #pattern => #out.variant(#text, #content),)
            });
            Ok(quote!(match self { #(#arms)* }))
        }
        Data::Union(data) => Err(Error::new_spanned(
            data.union_token,
            "nobody can tell which field of a union is there: use an `enum`",
        )),
    }
}

/// A struct of one nameless field is what it holds.
fn struct_content(fields: &Fields) -> TokenStream {
    match fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            let (out, field) = (out(), binding(0, &fields.unnamed[0]));
            // Through the trait object, so that a type which is no key part is refused as elsewhere.
            let span = Span::mixed_site().located_at(fields.unnamed[0].ty.span());
            quote_spanned!(span=> #out.transparent(#field))
        }
        fields => content(fields),
    }
}

fn content(fields: &Fields) -> TokenStream {
    let out = out();
    let bindings = fields
        .iter()
        .enumerate()
        .map(|(index, field)| binding(index, field));
    match fields {
        Fields::Named(fields) => {
            let idents = fields.named.iter().filter_map(|field| field.ident.as_ref());
            let texts = idents.map(|ident| ident.unraw().to_string());
            quote!(#out.record(&[#((#texts, #bindings)),*]))
        }
        Fields::Unnamed(_) | Fields::Unit => quote!(#out.group(&[#(#bindings),*])),
    }
}

fn pattern(fields: &Fields) -> TokenStream {
    let bindings = fields
        .iter()
        .enumerate()
        .map(|(index, field)| binding(index, field));
    match fields {
        Fields::Named(fields) => {
            let idents = fields
                .named
                .iter()
                .map(|field| field.ident.to_token_stream());
            quote!({ #(#idents: #bindings),* })
        }
        Fields::Unnamed(_) => quote!((#(#bindings),*)),
        Fields::Unit => TokenStream::new(),
    }
}

/// The variable of a field, shown to whoever meets it in an error as the field's type.
fn binding(index: usize, field: &syn::Field) -> Ident {
    let span = Span::mixed_site().located_at(field.ty.span());
    format_ident!("field_{index}", span = span)
}

fn out() -> Ident {
    Ident::new("out", Span::mixed_site())
}
