// Reads of one product whose entry is stored: a round trip to Redis each, and no database read.

import { read, thresholds } from './product.js';

export const options = {
  scenarios: {
    hot: { executor: 'constant-vus', vus: 20, duration: '10s', gracefulStop: '0s' },
  },
  thresholds: thresholds('hot', 250),
};

export function setup() {
  read();
}

export default function () {
  read();
}
