//! Arguments that are lent by a caller, copied for a body that outlives it.

/// What a body in a task of its own can have a copy of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be copied for a body that outlives its caller",
    label = "borrowed from the caller",
    note = "make it `Clone`, which is cheap where its fields are `Arc`s, or take an `Arc` of it by value",
    note = "or add `inline` to run the body in the caller's own task, on what is borrowed"
)]
pub trait Lent {
    /// What the body owns.
    type Own;
    /// The copy.
    fn copied(&self) -> Self::Own;
}

#[diagnostic::do_not_recommend]
impl<T: ToOwned + ?Sized> Lent for T {
    type Own = T::Owned;

    fn copied(&self) -> T::Owned {
        self.to_owned()
    }
}
