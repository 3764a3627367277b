//! What the attribute means: one [`Model`], or everything that is wrong with it.

mod arguments;
mod clocks;
mod conflicts;
mod key;
mod model;
mod ownership;
mod settings;
mod signature;
mod template;

use proc_macro2::{Ident, Span};
use syn::Path;
use syn::spanned::Spanned;

use crate::diagnostics::Diagnostics;
use crate::parse::{Function, Options};
use crate::tokens;

pub(crate) use model::{
    Carried, Codec, CopiedReceiver, Form, Key, Model, Part, Passage, Piece, Place, Setting, Value,
};

use arguments::Arguments;
use key::KeyOptions;

/// Understands `function` under `options`. What is refused goes to `diagnostics`.
pub(crate) fn analyze(
    options: Options,
    function: Function,
    diagnostics: &mut Diagnostics,
) -> Option<Model> {
    conflicts::refuse(&options, diagnostics);
    let signature = signature::understand(&function.sig, diagnostics);
    let arguments = Arguments::of(&function.sig);

    // Taken apart without `..`: an option that is parsed and then forgotten does not compile.
    let Options {
        key,
        skip,
        header_keys,
        missing_header,
        namespace,
        version,
        fresh_ttl,
        stale_ttl,
        pending_ttl,
        wait_timeout,
        errors,
        keep_errors,
        on_redis_error,
        max_payload,
        codec,
        enabled,
        self_bypass,
        inline,
        entry,
        coalescer,
        root,
    } = options;

    let clocks = clocks::Clocks {
        fresh_ttl,
        stale_ttl,
        pending_ttl,
        wait_timeout,
        keep_errors,
    };
    let words = settings::Words {
        missing_header,
        errors,
        on_redis_error,
    };
    let rest = settings::Rest {
        header_keys,
        namespace,
        version,
        max_payload,
        enabled,
        self_bypass,
    };
    let settings = settings::collect(clocks, words, rest, diagnostics);

    let skipped = skip.map_or_else(Vec::new, |skip| skip.value);
    let key = key::understand(
        KeyOptions {
            key,
            skipped: &skipped,
        },
        &arguments,
        diagnostics,
    );
    let place = match inline {
        Some(_) => Place::Inline,
        None => ownership::plan(&function, &arguments, &skipped, diagnostics),
    };

    let (mut form, output) = signature?;
    let recursive = || tokens::calls(&function.body.stream(), &function.sig.ident);
    let detached = matches!(place, Place::Detached { .. }) && entry.is_none();
    if form == Form::Async && detached && recursive() {
        form = Form::Recursive;
    }
    Some(Model {
        root: root.map(|root| root.value),
        function,
        form,
        output,
        codec: codec.map(|codec| codec_of(codec.value)),
        settings,
        key,
        coalescer: coalescer.map(|coalescer| coalescer.value),
        place,
        entry: entry.map(|entry| entry.value),
    })
}

/// The codec that is meant by a path, or by one of our own words.
fn codec_of(written: Path) -> Codec {
    let word = written.get_ident().map(ToString::to_string);
    let own = match word.as_deref() {
        Some("json") => "Json",
        Some("postcard") => "Postcard",
        Some("messagepack") => "MessagePack",
        _ => return Codec::Foreign(written),
    };
    let span = Span::mixed_site().located_at(written.span());
    Codec::Own(Ident::new(own, span))
}
