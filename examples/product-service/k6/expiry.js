// A steady load that is longer than a value is fresh (10 s): the entry expires under it, twice.

import { read, thresholds } from './product.js';

export const options = {
  scenarios: {
    expiry: {
      executor: 'constant-arrival-rate',
      rate: 100,
      timeUnit: '1s',
      duration: '25s',
      preAllocatedVUs: 100,
      maxVUs: 400,
      gracefulStop: '0s',
    },
  },
  thresholds: { ...thresholds('expiry', 1250), dropped_iterations: ['count==0'] },
};

export default function () {
  read();
}
