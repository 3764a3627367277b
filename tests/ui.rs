//! What must not compile, and what is said then; beside each such file its mended twin, which does.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn mistakes_are_explained_and_their_mended_twins_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*/*.rs");
    cases.pass("tests/ui/*/fixed/*.rs");
}

#[test]
fn every_mistake_has_a_mended_twin() {
    let folders = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui"));
    for folder in folders {
        let mistakes = files(&folder).into_iter().filter(|file| is_rust(file));
        let names = |files: Vec<PathBuf>| -> Vec<String> {
            let names = files.iter().filter_map(|file| file.file_name()?.to_str());
            names.map(str::to_owned).collect()
        };
        assert_eq!(
            names(mistakes.collect()),
            names(files(&folder.join("fixed")))
        );
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}
