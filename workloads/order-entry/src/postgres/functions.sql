-- The transactions as functions, each a transaction of its own. They do what the statements do, in the same order.
-- An unknown item of an order has the state OE001, and the server rolls back; any other missing row is no_data_found.

CREATE OR REPLACE FUNCTION oe_customer(w integer, d integer, name text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ids integer[];
BEGIN
    SELECT array_agg(c_id ORDER BY c_first, c_id) INTO ids FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_last = name;
    IF ids IS NULL THEN
        RAISE no_data_found USING MESSAGE = 'no customer of a last name';
    END IF;
    RETURN ids[(cardinality(ids) + 1) / 2];
END $$;

CREATE OR REPLACE FUNCTION oe_new_order(
    w integer, d integer, c integer, all_local integer, supplies integer[], items integer[], quantities integer[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    now_s bigint := extract(epoch FROM now());
    warehouse_tax integer;
    district_tax integer;
    discount integer;
    number integer;
    price integer;
    info text;
    total bigint := 0;
BEGIN
    SELECT w_tax INTO STRICT warehouse_tax FROM warehouse WHERE w_id = w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
        RETURNING d_next_o_id - 1, d_tax INTO STRICT number, district_tax;
    SELECT c_discount INTO STRICT discount FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (w, d, number, c, now_s, cardinality(items), all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (w, d, number);
    FOR line IN 1 .. cardinality(items) LOOP
        SELECT i_price INTO price FROM item WHERE i_id = items[line];
        IF NOT FOUND THEN
            RAISE SQLSTATE 'OE001' USING MESSAGE = 'an item of an order does not exist';
        END IF;
        UPDATE stock SET s_quantity = s_quantity - quantities[line]
                + CASE WHEN s_quantity - quantities[line] < 10 THEN 91 ELSE 0 END,
            s_ytd = s_ytd + quantities[line], s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN supplies[line] <> w THEN 1 ELSE 0 END
            WHERE s_w_id = supplies[line] AND s_i_id = items[line]
            RETURNING CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END INTO STRICT info;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                ol_dist_info)
            VALUES (w, d, number, line, items[line], supplies[line], quantities[line], price * quantities[line], info);
        total := total + price * quantities[line];
    END LOOP;
    RETURN (total * (10000 - discount) * (10000 + warehouse_tax + district_tax) + 50000000) / 100000000;
END $$;

CREATE OR REPLACE FUNCTION oe_payment(
    w integer, d integer, c_w integer, c_d integer, c integer, name text, cents integer
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    names text;
    balance bigint;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + cents WHERE w_id = w RETURNING w_name INTO STRICT names;
    UPDATE district SET d_ytd = d_ytd + cents WHERE d_w_id = w AND d_id = d
        RETURNING names || '    ' || d_name INTO STRICT names;
    IF c IS NULL THEN
        c := oe_customer(c_w, c_d, name);
    END IF;
    UPDATE customer SET c_balance = c_balance - cents, c_ytd_payment = c_ytd_payment + cents,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
            THEN substr(concat_ws(' ', c, c_d, c_w, d, w, cents) || ' ' || c_data, 1, 500) ELSE c_data END
        WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = c RETURNING c_balance INTO STRICT balance;
    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
        VALUES (c_w, c_d, c, w, d, extract(epoch FROM now())::bigint, cents, names);
    RETURN balance;
END $$;

CREATE OR REPLACE FUNCTION oe_order_status(w integer, d integer, c integer, name text)
RETURNS TABLE (item integer, supply integer, quantity integer, amount integer, delivered bigint)
LANGUAGE plpgsql AS $$
DECLARE
    balance bigint;
    number integer;
BEGIN
    IF c IS NULL THEN
        c := oe_customer(w, d, name);
    END IF;
    SELECT c_balance INTO STRICT balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    SELECT o_id INTO STRICT number FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = c
        ORDER BY o_id DESC LIMIT 1;
    RETURN QUERY SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = number;
END $$;

CREATE OR REPLACE FUNCTION oe_delivery(w integer, carrier integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    now_s bigint := extract(epoch FROM now());
    number integer;
    customer_id integer;
    cents bigint;
    delivered integer := 0;
BEGIN
    FOR d IN 1 .. 10 LOOP
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id =
            (SELECT no_o_id FROM new_order WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE)
            RETURNING no_o_id INTO number;
        CONTINUE WHEN NOT FOUND;
        UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = number
            RETURNING o_c_id INTO STRICT customer_id;
        WITH lines AS (
            UPDATE order_line SET ol_delivery_d = now_s WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = number
            RETURNING ol_amount
        ) SELECT coalesce(sum(ol_amount), 0) INTO cents FROM lines;
        UPDATE customer SET c_balance = c_balance + cents, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = customer_id;
        IF NOT FOUND THEN
            RAISE no_data_found USING MESSAGE = 'no customer of an order';
        END IF;
        delivered := delivered + 1;
    END LOOP;
    RETURN delivered;
END $$;

CREATE OR REPLACE FUNCTION oe_stock_level(w integer, d integer, threshold integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    next_number integer;
    low bigint;
BEGIN
    SELECT d_next_o_id INTO STRICT next_number FROM district WHERE d_w_id = w AND d_id = d;
    SELECT count(DISTINCT s_i_id) INTO low FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id BETWEEN next_number - 20 AND next_number - 1 AND s_quantity < threshold;
    RETURN low;
END $$;
