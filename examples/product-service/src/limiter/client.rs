//! Whose request it is: the peer's, or that of whom a trusted proxy names.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::HeaderMap;

/// The header in which the proxy names its client.
const REAL_IP: &str = "x-real-ip";

/// The client of a request. What a peer says of itself counts only if it is the proxy: anybody else would
/// choose a new address for each request.
pub fn client_of(peer: IpAddr, headers: &HeaderMap, trusted_proxy: Option<IpAddr>) -> IpAddr {
    let peer = peer.to_canonical();
    let named = (trusted_proxy.map(|proxy| proxy.to_canonical()) == Some(peer))
        .then(|| headers.get(REAL_IP)?.to_str().ok()?.trim().parse().ok())
        .flatten();
    counted_as(named.unwrap_or(peer))
}

/// An IPv4 address counts by itself, however it is written. Who has one IPv6 address has the 2^64 of its
/// network, so those count as one.
fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            Ipv6Addr::from(network).into()
        }
        IpAddr::V4(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, real_ip: Option<&str>, proxy: Option<&str>) -> String {
        let mut headers = HeaderMap::new();
        if let Some(real_ip) = real_ip {
            headers.insert(REAL_IP, real_ip.parse().unwrap());
        }
        let proxy = proxy.map(|proxy| proxy.parse().unwrap());
        client_of(peer.parse().unwrap(), &headers, proxy).to_string()
    }

    #[test]
    fn only_the_proxy_is_believed() {
        let proxy = Some("10.0.0.9");
        assert_eq!(client("10.0.0.9", Some("1.2.3.4"), proxy), "1.2.3.4");
        assert_eq!(client("10.0.0.8", Some("1.2.3.4"), proxy), "10.0.0.8");
        assert_eq!(client("10.0.0.9", Some("1.2.3.4"), None), "10.0.0.9");
    }

    #[test]
    fn a_proxy_that_names_nobody_is_the_client_itself() {
        let proxy = Some("10.0.0.9");
        assert_eq!(client("10.0.0.9", None, proxy), "10.0.0.9");
        assert_eq!(client("10.0.0.9", Some("unknown"), proxy), "10.0.0.9");
    }

    #[test]
    fn an_address_has_one_form() {
        let proxy = Some("10.0.0.9");
        let mapped = client("::ffff:10.0.0.9", Some("::ffff:1.2.3.4"), proxy);
        assert_eq!(mapped, "1.2.3.4");
        assert_eq!(client("2001:DB8:0:1::a", None, None), "2001:db8:0:1::");
        assert_eq!(client("2001:db8:0:1:f::", None, None), "2001:db8:0:1::");
        assert_eq!(client("2001:db8:0:2::a", None, None), "2001:db8:0:2::");
    }
}
