//! Keys are injective: whatever differs in namespace, version or parts differs in tag and digest.

mod part;

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;

use coalesce_runtime::{Key, KeyBuilder, KeyPart, Piece, canonical};
use proptest::collection::{hash_set, vec};
use proptest::prelude::*;
use proptest::{option, sample};

use part::{Part, part, text};

/// The text that stands for the parts, which is the worst text to give as a value.
fn spelled(parts: &[Part]) -> String {
    key("n", parts).tag().replacen("n:", "", 1)
}

/// Other values that a careless encoding would take for this one.
fn doubles(part: &Part) -> Vec<Part> {
    let text = |text: &str| Part::Text(text.to_owned());
    let texts = |parts: &[Part]| -> Vec<_> {
        let spelled = parts.iter().map(|part| spelled(std::slice::from_ref(part)));
        spelled.map(Part::Text).collect()
    };
    let mut doubles = vec![
        part.clone(),
        text(&spelled(std::slice::from_ref(part))),
        Part::Optional(Some(Box::new(part.clone()))),
        Part::Group(vec![part.clone()]),
    ];
    match part {
        Part::Text(whole) => {
            for separator in [',', ':', '/'] {
                let pieces: Vec<_> = whole.split(separator).map(text).collect();
                doubles.extend([Part::Group(pieces.clone()), Part::List(pieces)]);
            }
        }
        Part::Optional(Some(inner)) => doubles.push((**inner).clone()),
        Part::Optional(None) => doubles.extend([text(""), text("n"), Part::Group(vec![])]),
        Part::Group(parts) | Part::List(parts) => {
            doubles.extend([Part::Group(parts.clone()), Part::List(parts.clone())]);
            doubles.extend([Part::List(texts(parts)), Part::List(vec![joined(parts)])]);
            let whole = [Part::Group(texts(parts))];
            doubles.extend(whole.clone());
            doubles.extend([Part::Group(whole.to_vec()), Part::List(whole.to_vec())]);
        }
        Part::Record(fields) => {
            let values: Vec<_> = fields.values().cloned().collect();
            doubles.extend([
                Part::Kind(String::new(), values.clone()),
                Part::Group(values),
            ]);
            let spelled = |(name, part): (&String, &Part)| {
                Part::Text(format!("{name}~={}", spelled(std::slice::from_ref(part))))
            };
            doubles.push(Part::Group(fields.iter().map(spelled).collect()));
        }
        Part::Kind(name, parts) => {
            doubles.extend([Part::Group(parts.clone()), Part::List(parts.clone())]);
            doubles.push(Part::Kind(format!("{name}~("), parts.clone()));
            doubles.push(text(&format!("@{name}")));
            doubles.push(Part::Group([vec![text(name)], parts.clone()].concat()));
        }
        Part::Integer(number) => doubles.push(text(&number.to_string())),
        Part::Truth(_) | Part::Bytes(_) => {}
    }
    doubles
}

/// The parts that are texts as one text.
fn joined(parts: &[Part]) -> Part {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    Part::Text(texts.collect::<Vec<_>>().join(","))
}

/// A namespace and parts, and others that a careless encoding would take for them.
fn doubles_of_key(namespace: &str, parts: &[Part]) -> HashSet<(String, Vec<Part>)> {
    let whole = spelled(parts);
    let mut doubles = HashSet::from([
        (namespace.to_owned(), parts.to_vec()),
        (namespace.to_owned(), vec![Part::Text(whole.clone())]),
        (format!("{namespace}:{whole}"), vec![]),
        (format!("{namespace}~v1"), parts.to_vec()),
    ]);
    for (at, part) in parts.iter().enumerate() {
        for double in self::doubles(part) {
            let mut parts = parts.to_vec();
            parts[at] = double;
            doubles.insert((namespace.to_owned(), parts));
        }
        let (before, behind) = (spelled(&parts[..at]), parts[at..].to_vec());
        doubles.insert((format!("{namespace}:{before}"), behind.clone()));
        doubles.insert((format!("{namespace}::{before}"), behind));
    }
    doubles
}

/// The values in a template's holes, and others that a careless encoding would take for them.
fn doubles_in_template(literals: [&str; 2], holes: &[Part; 3]) -> HashSet<[Part; 3]> {
    let [first, second, third] = holes
        .each_ref()
        .map(|hole| spelled(std::slice::from_ref(hole)));
    let text = |text: String| Part::Text(text);
    let mut doubles = HashSet::from([
        [
            text(format!("{first}{}{second}", literals[0])),
            holes[2].clone(),
            holes[2].clone(),
        ],
        [
            holes[0].clone(),
            text(format!("{second}{}{third}", literals[1])),
            holes[2].clone(),
        ],
        [
            holes[0].clone(),
            text(format!("{second}{}", literals[1])),
            holes[2].clone(),
        ],
        [
            holes[0].clone(),
            holes[1].clone(),
            text(format!("{}{third}", literals[1])),
        ],
    ]);
    for (at, hole) in holes.iter().enumerate() {
        for double in self::doubles(hole) {
            let mut holes = holes.clone();
            holes[at] = double;
            doubles.insert(holes);
        }
    }
    doubles
}

/// Makes a key of every input and fails if two of them are one, or if one is not fit for Redis.
fn all_differ<I: Debug>(inputs: impl IntoIterator<Item = I>, key_of: impl Fn(&I) -> Key) {
    let (mut tags, mut digests) = (HashMap::new(), HashMap::new());
    for input in inputs {
        let key = key_of(&input);
        let (tag, digest) = (key.tag().to_owned(), *key.digest());
        assert!(
            !tag.contains(['{', '}']),
            "{input:?} moves the hash tag: {tag}"
        );
        assert!(tag.len() < 512 && tag.is_ascii(), "{input:?} is {tag}");
        let input = format!("{input:?}");
        if let Some(other) = tags.insert(tag, input.clone()) {
            panic!("one tag for {input} and {other}");
        }
        if let Some(other) = digests.insert(digest, input.clone()) {
            panic!("one digest for {input} and {other}");
        }
    }
}

fn key(namespace: &str, parts: &[Part]) -> Key {
    let parts: Vec<_> = parts.iter().map(|part| part as &dyn KeyPart).collect();
    Key::new(namespace, &parts)
}

/// The cuts of a text into three, each once.
fn cuts(text: &str) -> Vec<[&str; 3]> {
    let ends: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
    let ends = ends.iter().copied().chain([text.len()]);
    let pairs = ends
        .clone()
        .flat_map(|first| ends.clone().map(move |second| (first, second)));
    pairs
        .filter(|(first, second)| first <= second)
        .map(|(first, second)| [&text[..first], &text[first..second], &text[second..]])
        .collect()
}

/// A template's literal texts, as the attribute allows them.
fn literals() -> impl Strategy<Value = [&'static str; 2]> {
    let texts = &[
        "/", ":", "::", "-", ",", "(", "]", "=", "#", "a", "s", "0", "25", "2F", "a/b", "/25", "A:",
    ];
    [sample::select(&texts[..]), sample::select(&texts[..])]
}

fn templated(literals: [&'static str; 2], holes: &[Part; 3]) -> Key {
    let [first, second, third] = holes;
    let mut builder = KeyBuilder::default();
    builder.template(&[
        Piece::Hole(first),
        Piece::Text(literals[0]),
        Piece::Hole(second),
        Piece::Text(literals[1]),
        Piece::Hole(third),
    ]);
    builder.finish("n".into(), None)
}

type Header = (String, Option<Vec<String>>);

fn with_headers(version: Option<u32>, headers: &[Header]) -> Key {
    let mut builder = KeyBuilder::default();
    for (name, values) in headers {
        let values = values.as_ref();
        builder.header(name, values.map(|values| values.iter().map(String::as_str)));
    }
    builder.finish("n".into(), version)
}

fn header() -> impl Strategy<Value = Header> {
    let value = text().prop_map(|text| text.trim().to_owned());
    // Several values and one that is empty are told apart only if there is one at all.
    let values = vec(value, 1..3);
    (text(), option::of(values))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn different_namespaces_and_parts_are_different_keys(
        inputs in hash_set((text(), vec(part(), 1..4)), 1..40),
    ) {
        all_differ(inputs, |(namespace, parts)| key(namespace, parts));
    }

    #[test]
    fn what_serde_sees_of_a_value_has_the_values_own_text(part in part()) {
        prop_assert_eq!(Key::new("n", &[&canonical(&part)]), Key::new("n", &[&part]));
    }

    #[test]
    fn no_value_can_spell_another(namespace in text(), parts in vec(part(), 1..4)) {
        all_differ(doubles_of_key(&namespace, &parts), |(namespace, parts)| key(namespace, parts));
    }

    #[test]
    fn no_value_can_spell_the_digest_of_a_long_one(text in "[a-z]{200,300}") {
        all_differ(doubles_of_key(&text, &[Part::Text(text.clone())]), |(namespace, parts)| {
            key(namespace, parts)
        });
    }

    #[test]
    fn no_character_moves_from_one_part_to_the_next(text in vec(text(), 3..5)) {
        let text = text.concat();
        all_differ(cuts(&text), |[namespace, first, second]| {
            Key::new(*namespace, &[first, second])
        });
    }

    #[test]
    fn different_values_in_a_template_are_different_keys(
        literals in literals(),
        inputs in hash_set([part(), part(), part()], 1..40),
    ) {
        all_differ(inputs, |holes| templated(literals, holes));
    }

    #[test]
    fn no_value_in_a_template_can_spell_another(
        literals in literals(),
        holes in [part(), part(), part()],
    ) {
        all_differ(doubles_in_template(literals, &holes), |holes| templated(literals, holes));
    }

    #[test]
    fn no_character_moves_from_one_hole_to_the_next(
        literals in literals(),
        text in vec(text(), 3..5),
    ) {
        let text = text.concat();
        all_differ(cuts(&text), |holes| {
            templated(literals, &holes.map(|hole| Part::Text(hole.to_owned())))
        });
    }

    #[test]
    fn different_headers_and_versions_are_different_keys(
        inputs in hash_set((option::of(0..3_u32), vec(header(), 1..3)), 1..40),
    ) {
        all_differ(inputs, |(version, headers)| with_headers(*version, headers));
    }

    #[test]
    fn no_namespace_can_spell_a_version(namespace in text(), version in 0..3_u32) {
        let spelled = format!("{namespace}~v{version}");
        let plain = [(namespace.clone(), None), (namespace, Some(version))];
        let others = [(spelled.clone(), None), (spelled, Some(version))];
        all_differ(plain.into_iter().chain(others), |(namespace, version)| {
            KeyBuilder::default().finish(namespace.as_str().into(), *version)
        });
    }

    #[test]
    fn long_keys_differ_wherever_they_do(
        head in "[a-z{}:%]{150,400}",
        inputs in hash_set((text(), text(), text()), 1..20),
    ) {
        all_differ(inputs, |(before, between, behind)| {
            Key::new(format!("{before}{head}"), &[&format!("{between}{head}{behind}")])
        });
    }
}
