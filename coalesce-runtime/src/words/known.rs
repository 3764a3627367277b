//! Known namespaces: what a process says of itself, so that a switch for a name that nobody has is noticed.

use super::switch::field_of;

/// Between module and function of a call site whose whole path only a call knows. `~` is escaped in
/// namespaces, so no namespace looks like it.
const SOMETHING: &str = "::~::";

/// What is said of a namespace that has been called, or was written down.
pub(crate) fn said_of_namespace(namespace: &str) -> String {
    field_of(namespace)
}

/// What is said of a call site that has not been called: a type and generic arguments may stand between
/// its module and its function.
pub(crate) fn said_of_function(module: &str, function: &str) -> String {
    [&field_of(module), SOMETHING, &field_of(function)].concat()
}

/// Whether what a process has said is about `namespace`.
pub(crate) fn is_about(said: &str, namespace: &str) -> bool {
    match said.split_once(SOMETHING) {
        Some((module, function)) => {
            // What a function is generic over is known to its calls.
            let field = field_of(without_arguments(namespace));
            let inside = field.strip_prefix(module);
            inside.is_some_and(|path| {
                path.starts_with("::")
                    && path
                        .strip_suffix(function)
                        .is_some_and(|rest| rest.ends_with("::"))
            })
        }
        None => said == field_of(namespace),
    }
}

/// `shop::get` for `shop::get<u8>`, and any other path as it is.
fn without_arguments(path: &str) -> &str {
    let mut open = 0_usize;
    for (at, character) in path.char_indices().rev() {
        match character {
            '>' => open += 1,
            '<' if open == 1 => return &path[..at],
            '<' => open = open.saturating_sub(1),
            _ if open == 0 => break,
            _ => {}
        }
    }
    path
}

/// The same for people: `shop::…::get` where a part is not known.
#[cfg(feature = "cli")]
pub(crate) fn shown(said: &str) -> String {
    let whole = said.replace(SOMETHING, "::…::");
    super::key_text::unescape(&whole).unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_about_itself() {
        let said = said_of_namespace("shop: orders");
        assert!(is_about(&said, "shop: orders"));
        for other in ["shop", "shop:orders", "shop: orders2", ""] {
            assert!(!is_about(&said, other), "{other}");
        }
    }

    #[cfg(feature = "cli")]
    #[test]
    fn people_read_a_name_without_its_escapes() {
        assert_eq!(shown(&said_of_namespace("shop: orders")), "shop: orders");
        let said = said_of_function("shop::orders", "get");
        assert_eq!(shown(&said), "shop::orders::…::get");
        assert_eq!(shown("%zz"), "%zz");
    }

    #[test]
    fn a_call_site_is_about_its_path_whatever_its_type_is() {
        let said = said_of_function("shop::orders", "get");
        for path in [
            "shop::orders::get",
            "shop::orders::Service<T>::get",
            "shop::orders::get<u8>",
            "shop::orders::Service<T>::get<Vec<u8>, 3>",
        ] {
            assert!(is_about(&said, path), "{path}");
        }
        for path in [
            "shop::get",
            "shop::orders",
            "shop::orders::forget",
            "shop::ordersget",
            "get",
            "shop::orders::forget<u8>",
            "shop::orders::get<u8>::put",
            "shop::orders::get>",
        ] {
            assert!(!is_about(&said, path), "{path}");
        }
    }
}
