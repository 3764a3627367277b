//! What generated code does with borrowed arguments: a body that outlives its caller gets copies, and borrows those.

use std::borrow::Borrow;
use std::marker::PhantomData;

/// A flight, as what needs things of user's types. The traits below are its own, and not those of the types: the
/// compiler would advise to bound a type parameter by them.
#[derive(Debug)]
pub struct Flight;

/// What nothing is. An implementation for it never applies, and is the second one: where there is one only, the
/// compiler takes it, and reports each place where it does not fit.
pub trait Impossible {}

/// What stands for [`Impossible`].
#[derive(Debug)]
pub enum Never {}

/// That a flight can have a copy of a borrowed `T`, which is a `C`.
#[diagnostic::on_unimplemented(
    message = "a flight cannot have a copy of `{T}`",
    label = "the body outlives its caller, so it gets a copy of what is borrowed: `{T}` is to be `Clone`",
    note = "a type of your own: `#[derive(Clone)]`; a type parameter: `{T}: Clone`; a type of another crate: take an `Arc` of it",
    note = "or add `inline`: then the body runs in the caller's own task, on what that lends"
)]
pub trait Copies<T: ?Sized, C> {
    /// Makes a copy.
    fn copied(borrowed: &T) -> C;
}

/// What a flight owns.
#[derive(Debug)]
pub struct Own<O>(O);

#[diagnostic::do_not_recommend]
impl<T: ToOwned + ?Sized> Copies<T, Own<T::Owned>> for Flight {
    fn copied(borrowed: &T) -> Own<T::Owned> {
        Own(borrowed.to_owned())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Impossible + ?Sized> Copies<T, Never> for Flight {
    fn copied(_: &T) -> Never {
        unreachable!("nothing is impossible")
    }
}

/// A copy of a `T`.
#[derive(Debug)]
pub struct Copied<T: ?Sized, C> {
    copy: C,
    of: PhantomData<fn(&T)>,
}

/// The flight's copy of what its caller has lent.
pub fn copied<T: ?Sized, C>(borrowed: &T) -> Copied<T, C>
where
    Flight: Copies<T, C>,
{
    Copied {
        copy: Flight::copied(borrowed),
        of: PhantomData,
    }
}

/// The copy as the body knows it.
pub fn lent<T: ?Sized, O: Borrow<T>>(copied: &Copied<T, Own<O>>) -> &T {
    copied.copy.0.borrow()
}

/// The copy of what is there.
pub fn copied_option<T: ?Sized, C>(borrowed: Option<&T>) -> Option<Copied<T, C>>
where
    Flight: Copies<T, C>,
{
    borrowed.map(copied)
}

/// What is there, as the body knows it.
pub fn lent_option<T: ?Sized, O: Borrow<T>>(copied: &Option<Copied<T, Own<O>>>) -> Option<&T> {
    copied.as_ref().map(lent)
}
