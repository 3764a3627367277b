//! The house rules that no compiler checks: first lines, lengths, floors, and who may name whom.

use std::path::Path;
use std::{fs, io};

const LONGEST_FILE: usize = 400;

/// The rooms of a crate with their floors. What has no room of its own is in the last.
type House = [(u8, &'static [&'static str])];
const RUNTIME: &House = &[
    (0, &["words"]),
    (1, &["format"]),
    (2, &["engine"]),
    (2, &["advisor"]),
    (3, &["ports"]),
    (4, &["backend"]),
    (4, &["books"]),
    (4, &["config"]),
    (4, &["flight"]),
    (4, &["metrics"]),
    (6, &["admin"]),
    (6, &["cli", "bin"]),
    (5, &["roof", "contract", "lib"]),
];
const MACROS: &House = &[
    (0, &["diagnostics", "names", "tokens"]),
    (1, &["parse"]),
    (2, &["analyze"]),
    (3, &["expand"]),
    (4, &["attribute", "fuzzing", "lib", "tests"]),
];

type MayStand = fn(&str) -> bool;

/// Names that may not stand everywhere, and where they may.
const NAMES: [(&str, MayStand); 3] = [
    ("fred", |path| {
        path.contains("/src/backend/redis/") || path.contains("/benches/")
    }),
    ("coalesce_macros", |path| {
        !path.starts_with("coalesce-runtime/")
    }),
    ("coalesce_runtime", |path| {
        !path.starts_with("coalesce-macros/")
    }),
];

#[test]
fn the_house_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(root, root, &mut files).unwrap();
    assert!(
        files.len() > 20,
        "only {} files found below {}",
        files.len(),
        root.display()
    );
    let problems: Vec<_> = files
        .iter()
        .flat_map(|(path, text)| problems(path, text))
        .collect();
    assert!(
        problems.is_empty(),
        "{} problem(s)\n{}",
        problems.len(),
        problems.join("\n")
    );
}

/// A file and a line that may not stand in it.
const WRONG: &[&str] = &[
    "coalesce-runtime/src/engine/cell.rs use crate::flight::fold::Fold;",
    "coalesce-runtime/src/engine/cell.rs use crate::{words::key::Key, flight::fold::Fold};",
    "coalesce-runtime/src/words/key.rs fn fallible() -> crate::Error {}",
    "coalesce-runtime/src/flight/leader.rs use super::super::backend::memory::MemoryCoordinator;",
    "coalesce-runtime/src/flight/leader.rs use fred::prelude::Client;",
    "coalesce-runtime/src/flight/leader.rs use coalesce_macros::coalesce;",
    "coalesce-macros/src/parse/options.rs use crate::analyze::Model;",
    "coalesce-macros/src/lib.rs use coalesce_runtime::Key;",
];

/// A file and a line that may.
const RIGHT: &[&str] = &[
    "coalesce-runtime/src/flight/leader.rs use crate::engine::{follow::Follower, lease::beat_of};",
    "coalesce-runtime/src/flight/leader.rs use super::driver::Driver;",
    "coalesce-runtime/src/flight/leader.rs /// See [`crate::Error`]; fred is not meant.",
    "coalesce-runtime/src/flight/leader.rs let text = \"use crate::Error\";",
    "coalesce-runtime/src/backend/redis/client.rs use fred::prelude::Client;",
    "coalesce-runtime/src/roof/call.rs use crate::flight::context::is_inside;",
];

#[test]
fn every_kind_of_problem_is_found() {
    let count = |path: &str, code: &str| {
        problems(path, &format!("//! It says what it holds.\n{code}\n")).len()
    };
    for (lines, expected) in [(WRONG, 1), (RIGHT, 0)] {
        for (path, code) in lines.iter().filter_map(|line| line.split_once(' ')) {
            assert_eq!(count(path, code), expected, "{path}: {code}");
        }
    }
    let nested = "mod tests {\n    use super::super::core::Core;\n}";
    assert_eq!(count("coalesce-runtime/src/flight/leader.rs", nested), 0);
    assert_eq!(count("src/lib.rs", &"\n".repeat(LONGEST_FILE)), 1);
    assert_eq!(problems("src/lib.rs", "use std::fmt;\n").len(), 1);
}

/// Every source file of the workspace, as a path below `root` and its text. Snippets that must not
/// compile, printed expansions and fuzz corpora are data, not sources.
fn walk(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (
            entry.path(),
            entry.file_name().to_string_lossy().into_owned(),
        );
        let data = ["goldens", "ui", "corpus", "artifacts"].contains(&&*name);
        if path.is_dir() && !data && !name.starts_with('.') && !name.starts_with("target") {
            walk(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let below_root = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
            files.push((below_root.replace('\\', "/"), fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

/// What is wrong with one file, each with its place and the rule.
fn problems(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut problem = |line: usize, rule: String| problems.push(format!("{path}:{line}: {rule}"));
    let sentence = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//! "));
    if sentence.is_none_or(|sentence| sentence.split_whitespace().count() < 3) {
        problem(
            1,
            "the first line is not `//!` and a sentence that says what the file holds".into(),
        );
    }
    let length = text.lines().count();
    if length > LONGEST_FILE {
        problem(
            length,
            format!("the file has more than {LONGEST_FILE} lines"),
        );
    }
    let mut in_inner_module = false;
    for (line, code) in (1..).zip(text.lines()) {
        let module_starts =
            code.trim_start_matches("pub ").starts_with("mod ") && code.ends_with('{');
        in_inner_module = module_starts || (in_inner_module && code != "}");
        let without_texts: String = code.split('"').step_by(2).collect();
        let code = without_texts.split("//").next().unwrap_or_default();
        for (name, may_stand) in NAMES {
            if !may_stand(path) && identifiers(code).any(|word| word == name) {
                problem(line, format!("`{name}` is not named here"));
            }
        }
        for broken in floors_left_upwards(path, code, in_inner_module) {
            problem(line, broken);
        }
    }
    problems
}

/// The paths in a line of code that lead from the file's floor to a higher one, or to a neighbour.
fn floors_left_upwards(path: &str, code: &str, in_inner_module: bool) -> Vec<String> {
    let (house, inside) = match path.split_once("/src/") {
        Some(("coalesce-runtime", inside)) => (RUNTIME, inside),
        Some(("coalesce-macros", inside)) => (MACROS, inside),
        _ => return Vec::new(),
    };
    let inside = inside.trim_end_matches(".rs").trim_end_matches("/mod");
    let depth = inside.split('/').count() + usize::from(in_inner_module);
    let code = code
        .replace("$crate::", "")
        .replace("_crate::", "")
        .replace(&"super::".repeat(depth), "crate::");
    let place = |name| {
        let found = house.iter().position(|(_, names)| names.contains(&name));
        found.unwrap_or(house.len() - 1)
    };
    let here = inside.split('/').next().unwrap_or_default();
    let mut broken = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let Some(there) = identifiers(rest)
            .next()
            .filter(|name| rest.starts_with(*name))
        else {
            broken.push("`crate::` is followed by a name: one `use` for each floor".to_owned());
            continue;
        };
        let (from, to) = (place(here), place(there));
        if from != to && house[from].0 <= house[to].0 {
            broken.push(format!(
                "`{here}` does not know `{there}`: imports go downwards"
            ));
        }
    }
    broken
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| c != '_' && !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}
