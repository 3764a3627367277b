//! Key parts of other crates' types, each behind the feature of its crate's name.

#[cfg(any(
    feature = "uuid",
    feature = "chrono",
    feature = "time",
    feature = "url",
    feature = "rust_decimal",
    feature = "bytes"
))]
use super::{key_part::KeyPart, key_writer::KeyWriter};

/// Implements [`KeyPart`] for types of the crate behind a feature.
macro_rules! foreign {
    ($feature:literal: $($type:ty, $value:ident, $out:ident => $write:expr;)*) => {$(
        #[cfg(feature = $feature)]
        impl KeyPart for $type {
            fn write(&self, $out: &mut KeyWriter<'_>) {
                let $value = self;
                $write;
            }
        }
    )*};
}

foreign! { "uuid":
    uuid::Uuid, id, out => out.text(id.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()));
}

// Two equal times have one text, whatever their zone; a leap second has its own.
#[cfg(feature = "chrono")]
impl<Z: chrono::TimeZone> KeyPart for chrono::DateTime<Z> {
    fn write(&self, out: &mut KeyWriter<'_>) {
        out.group(&[&self.timestamp(), &self.timestamp_subsec_nanos()]);
    }
}

foreign! { "chrono":
    chrono::NaiveDateTime, time, out => time.and_utc().write(out);
    chrono::NaiveDate, date, out => {
        use chrono::Datelike as _;
        out.group(&[&date.year(), &date.month(), &date.day()]);
    };
    chrono::NaiveTime, time, out => {
        use chrono::Timelike as _;
        out.group(&[&time.num_seconds_from_midnight(), &time.nanosecond()]);
    };
    chrono::TimeDelta, delta, out => out.group(&[&delta.num_seconds(), &delta.subsec_nanos()]);
}

foreign! { "time":
    time::OffsetDateTime, time, out => out.digits(time.unix_timestamp_nanos());
    time::PrimitiveDateTime, time, out => out.digits(time.assume_utc().unix_timestamp_nanos());
    time::Date, date, out => out.group(&[&date.year(), &u8::from(date.month()), &date.day()]);
    time::Time, time, out => {
        let (hour, minute, second, nanosecond) = time.as_hms_nano();
        out.group(&[&hour, &minute, &second, &nanosecond]);
    };
    time::Duration, duration, out => out.digits(duration.whole_nanoseconds());
}

foreign! { "url":
    url::Url, url, out => out.text(url.as_str());
}

// `1.0` and `1.00` are equal, and so are `0` and `-0`.
foreign! { "rust_decimal":
    rust_decimal::Decimal, decimal, out => out.digits(decimal.normalize());
}

foreign! { "bytes":
    bytes::Bytes, bytes, out => out.bytes(bytes);
    bytes::BytesMut, bytes, out => out.bytes(bytes);
}

#[cfg(all(
    test,
    feature = "uuid",
    feature = "chrono",
    feature = "time",
    feature = "url",
    feature = "rust_decimal",
    feature = "bytes"
))]
mod tests {
    use super::super::key_part::text_of;

    #[test]
    fn each_has_its_canonical_text() {
        let id = uuid::Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
        assert_eq!(text_of(&id), "~s01020304-0506-0708-090a-0b0c0d0e0f10");
        let url: url::Url = "HTTPS://Example.org:443/a?b=c".parse().unwrap();
        assert_eq!(text_of(&url), "https%3A//example.org/a?b=c");
        assert_eq!(text_of(&bytes::Bytes::from_static(&[0, 255])), "~b00ff");
        let date = time::Date::from_calendar_date(2026, time::Month::November, 30).unwrap();
        assert_eq!(text_of(&date), "~(2026,11,30)");
        let time = time::Time::from_hms_nano(1, 2, 3, 4).unwrap();
        assert_eq!(text_of(&time), "~(1,2,3,4)");
        let date = chrono::NaiveDate::from_ymd_opt(2026, 11, 30).unwrap();
        assert_eq!(text_of(&date), "~(2026,11,30)");
        let time = chrono::NaiveTime::from_hms_nano_opt(1, 0, 0, 4).unwrap();
        assert_eq!(text_of(&time), "~(3600,4)");
        assert_eq!(
            text_of(&chrono::TimeDelta::milliseconds(1_500)),
            "~(1,500000000)"
        );
    }

    #[test]
    fn equal_decimals_have_one_text() {
        let [one, also, zero, minus_zero] =
            ["1.50", "1.5", "0", "-0.0"].map(|text| text.parse::<rust_decimal::Decimal>().unwrap());
        assert_eq!((one, text_of(&one)), (also, text_of(&also)));
        assert_eq!(text_of(&one), "1.5");
        assert_eq!((zero, text_of(&zero)), (minus_zero, text_of(&minus_zero)));
    }

    #[test]
    fn one_moment_in_two_zones_has_one_text() {
        let here = chrono::DateTime::parse_from_rfc3339("2026-11-30T02:00:00.5+02:00").unwrap();
        let there = here.to_utc();
        assert_eq!((here, text_of(&here)), (there.into(), text_of(&there)));
        let here = time::OffsetDateTime::from_unix_timestamp(1).unwrap();
        let there = here.to_offset(time::UtcOffset::from_hms(2, 0, 0).unwrap());
        assert_eq!((here, text_of(&here)), (there, text_of(&there)));
    }

    #[test]
    fn a_leap_second_is_not_the_second_behind_it() {
        let texts = ["2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.5Z"]
            .map(|text| text_of(&chrono::DateTime::parse_from_rfc3339(text).unwrap()));
        assert_ne!(texts[0], texts[1]);
    }
}
