//! Values of other crates' types, each with the feature of its crate's name.

/// How each value is written, and the key of a call that has it alone.
pub(crate) fn all() -> Vec<(&'static str, String)> {
    [
        #[cfg(feature = "uuid")]
        of_uuid(),
        #[cfg(feature = "chrono")]
        of_chrono(),
        #[cfg(feature = "time")]
        of_time(),
        #[cfg(feature = "url")]
        of_url(),
        #[cfg(feature = "rust_decimal")]
        of_rust_decimal(),
        #[cfg(feature = "bytes")]
        of_bytes(),
        Vec::new(),
    ]
    .concat()
}

#[cfg(feature = "uuid")]
fn of_uuid() -> Vec<(&'static str, String)> {
    use uuid::Uuid;

    crate::values::keys![Uuid::nil(), Uuid::from_u128(0x1234)]
}

#[cfg(feature = "chrono")]
fn of_chrono() -> Vec<(&'static str, String)> {
    use chrono::{DateTime, FixedOffset, NaiveDate, TimeDelta};

    let day = |year| NaiveDate::from_ymd_opt(year, 11, 30).unwrap_or_default();
    let moment = DateTime::UNIX_EPOCH + TimeDelta::milliseconds(-1);
    let offset = FixedOffset::east_opt(3600);
    let leap_second = day(2016).and_hms_milli_opt(23, 59, 59, 1_500);
    crate::values::keys![
        day(2026),
        day(-44),
        day(12_026),
        moment,
        offset.map(|offset| moment.with_timezone(&offset)),
        leap_second,
        leap_second.map(|time| time.time()),
        TimeDelta::milliseconds(-1_500),
    ]
}

#[cfg(feature = "time")]
fn of_time() -> Vec<(&'static str, String)> {
    use time::{Date, Duration, Month, OffsetDateTime, Time};

    let day = Date::from_calendar_date(2026, Month::November, 30).unwrap_or(Date::MIN);
    crate::values::keys![
        day,
        Date::MIN,
        day.midnight(),
        OffsetDateTime::UNIX_EPOCH - Duration::MILLISECOND,
        Time::MAX,
        Duration::milliseconds(-1_500),
    ]
}

#[cfg(feature = "url")]
fn of_url() -> Vec<(&'static str, String)> {
    let url = |text| url::Url::parse(text).ok();
    crate::values::keys![
        url("HTTPS://Example.org:443/a?b=c#d"),
        url("https://example.org/%C3%BC")
    ]
}

#[cfg(feature = "rust_decimal")]
fn of_rust_decimal() -> Vec<(&'static str, String)> {
    use rust_decimal::Decimal;

    crate::values::keys![
        Decimal::new(150, 2),
        Decimal::new(-1, 28),
        Decimal::new(0, 3),
        Decimal::MAX,
    ]
}

#[cfg(feature = "bytes")]
fn of_bytes() -> Vec<(&'static str, String)> {
    use bytes::{Bytes, BytesMut};

    crate::values::keys![
        Bytes::from_static(&[0, 255]),
        BytesMut::from("ab"),
        Bytes::new()
    ]
}
