// What the scenarios have in common: where the front is, and how a product becomes cold.

import http from 'k6/http';
import { check } from 'k6';

// `stack up` prints the address of its front; with Docker it is this one.
export const BASE_URL = __ENV.BASE_URL || 'http://127.0.0.1:8080';
export const PRODUCT = __ENV.PRODUCT || '1';

export const url = `${BASE_URL}/api/v1/products/${PRODUCT}`;

const json = { headers: { 'Content-Type': 'application/json' } };

// An update with the values that are there invalidates the entry: the next read is a miss.
export function makeCold() {
  const { id, ...product } = http.get(url).json();
  const updated = http.put(url, JSON.stringify(product), json);
  if (updated.status >= 300) {
    throw new Error(`the product could not be updated: ${updated.status} ${updated.body}`);
  }
}

export function read() {
  const response = http.get(url);
  check(response, { 'is 200': (r) => r.status === 200 });
  return response;
}

// Nothing fails, and nobody waits longer than this. Set-up is not counted.
export function thresholds(scenario, p99) {
  return {
    [`http_req_duration{scenario:${scenario}}`]: [`p(99)<${p99}`],
    [`http_req_failed{scenario:${scenario}}`]: ['rate==0'],
    checks: ['rate==1'],
  };
}
