//! What an annotated function means: all that is needed to print it.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Expr, LitStr, Path, Token, Type, parse_quote};

use crate::names;
use crate::parse::{EntryName, Function};

/// An annotated function, understood and found legal.
pub(crate) struct Model {
    /// Where the library is, if not under its usual name.
    pub(crate) root: Option<Path>,
    pub(crate) function: Function,
    pub(crate) form: Form,
    /// What callers receive, `()` if nothing is written.
    pub(crate) output: Type,
    /// How it is written, if not as usual.
    pub(crate) codec: Option<Codec>,
    /// The options that describe the call site, in the order they were written.
    pub(crate) settings: Vec<Setting>,
    pub(crate) key: Key,
    pub(crate) coalescer: Option<Expr>,
    pub(crate) place: Place,
    pub(crate) entry: Option<EntryName>,
}

impl Model {
    /// The hidden module, which is all that generated code names.
    pub(crate) fn contract(&self) -> Path {
        match &self.root {
            None => parse_quote!(::coalesce::__private),
            Some(root) => parse_quote!(#root::__private),
        }
    }

    /// The same inside a function, behind [`Model::import`].
    pub(crate) fn contract_inside(&self) -> Path {
        match &self.root {
            None => self.contract(),
            Some(_) => names::contract().into(),
        }
    }

    /// The statement without which a path that leads nowhere would be reported twice: where macros are
    /// looked for, and where everything else is.
    pub(crate) fn import(&self) -> Option<TokenStream> {
        let (contract, name) = (self.contract(), names::contract());
        let statement = || quote!(use #contract as #name;);
        self.root.is_some().then(statement)
    }
}

/// How the function says that it is asynchronous.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `async fn`.
    Async,
    /// `async fn` with a body that calls it. Nobody can see that a future which holds itself is `Send`,
    /// so the function says it: it returns `impl Future + Send`.
    Recursive,
    /// A plain `fn` that returns `Pin<Box<dyn Future>>`, by hand or by `#[async_trait]`.
    Boxed,
}

/// How values are written.
pub(crate) enum Codec {
    /// One of the library's, by its name there.
    Own(Ident),
    /// A user's.
    Foreign(Path),
}

/// One method call on the call site's description.
pub(crate) struct Setting {
    /// The method.
    pub(crate) name: &'static str,
    /// The option it comes from.
    pub(crate) option: Ident,
    pub(crate) value: Value,
}

/// The argument of a [`Setting`].
pub(crate) enum Value {
    Text(LitStr),
    Texts(Vec<LitStr>),
    Number(u32),
    Constant(Path),
}

/// What names the work.
pub(crate) enum Key {
    Parts(Vec<Part>),
    Template(Vec<Piece>),
}

/// One typed part of a key.
pub(crate) struct Part {
    /// The `#[cfg]`s of the argument it stands for.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) value: Expr,
}

/// One piece of a template.
pub(crate) enum Piece {
    Hole(Box<Expr>),
    Text(LitStr),
}

/// Where the body runs.
pub(crate) enum Place {
    /// In the caller's own task, on the caller's own arguments.
    Inline,
    /// In a task of its own, on what it owns.
    Detached {
        /// The receiver, if it is a reference; one that is taken by value is simply captured.
        receiver: Option<CopiedReceiver>,
        /// The arguments that need a statement to get there; the rest are simply captured.
        carried: Vec<Carried>,
    },
}

/// A reference to `self`, of whose referent a detached body gets a copy.
pub(crate) struct CopiedReceiver {
    pub(crate) referent: Box<Type>,
    pub(crate) itself: Token![self],
}

/// An argument on its way into a detached body.
pub(crate) struct Carried {
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) mutability: Option<Token![mut]>,
    pub(crate) ident: Ident,
    pub(crate) passage: Passage,
}

/// How an argument gets into a detached body.
pub(crate) enum Passage {
    /// It is moved, whether the body mentions it or not: a guard is dropped after the body.
    Moved,
    /// A reference to this type: copied, and lent back.
    Lent(Type),
    /// An `Option` of a reference to this type: the same inside the `Option`.
    LentOption(Type),
    /// A reference to an `impl Trait`, which has no name: the same without naming it.
    LentNameless,
}
