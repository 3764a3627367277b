-- Products, and a thousand of them to begin with: 1 exists, 999999 does not.
CREATE TABLE products (
    id          bigint         PRIMARY KEY,
    name        text           NOT NULL,
    description text           NOT NULL,
    price       numeric(10, 2) NOT NULL CHECK (price >= 0),
    stocks      integer        NOT NULL CHECK (stocks >= 0),
    available   boolean        NOT NULL
);

INSERT INTO products (id, name, description, price, stocks, available)
SELECT id,
       'Product ' || id,
       'What product ' || id || ' is good for',
       (id * 37 % 20000) / 100.0 + 0.99,
       id * 13 % 500,
       id * 13 % 500 > 0
FROM generate_series(1, 1000) AS id;
