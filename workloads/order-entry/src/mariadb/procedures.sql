-- The transactions as procedures, each with its commit. They leave what the statements leave, and read only
-- the columns that they need. An order with an
-- unknown item is rolled back, and its total is null; any other missing row is an error.

CREATE OR REPLACE PROCEDURE oe_customer(
    w INT, d INT, name VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, OUT c INT
) READS SQL DATA
BEGIN
    SELECT CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(
            GROUP_CONCAT(c_id ORDER BY c_first, c_id), ',', (COUNT(*) + 1) DIV 2), ',', -1) AS INT)
        INTO c FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name;
    IF c IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no customer of a last name';
    END IF;
END;

-- `demands` has 13 digits for each line: 5 of the warehouse, 6 of the item, 2 of the quantity.
CREATE OR REPLACE PROCEDURE oe_new_order(
    w INT, d INT, c INT, all_local INT, demands VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
) MODIFIES SQL DATA
placed: BEGIN
    DECLARE warehouse_tax, district_tax, discount, number, supply, item, quantity, price INT;
    DECLARE line INT DEFAULT 1;
    DECLARE most INT DEFAULT LENGTH(demands) DIV 13;
    DECLARE total BIGINT DEFAULT 0;
    DECLARE info VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR NOT FOUND SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row of an order is missing';
    SELECT w_tax INTO warehouse_tax FROM warehouse WHERE w_id = w;
    SELECT d_next_o_id, d_tax INTO number, district_tax FROM district WHERE d_w_id = w AND d_id = d FOR UPDATE;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d;
    SELECT c_discount INTO discount FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (w, d, number, c, UNIX_TIMESTAMP(), most, all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (w, d, number);
    WHILE line <= most DO
        SET supply = SUBSTRING(demands, 13 * line - 12, 5), item = SUBSTRING(demands, 13 * line - 7, 6),
            quantity = SUBSTRING(demands, 13 * line - 1, 2);
        SET price = (SELECT i_price FROM item WHERE i_id = item);
        IF price IS NULL THEN
            ROLLBACK;
            SELECT CAST(NULL AS SIGNED) AS total;
            LEAVE placed;
        END IF;
        UPDATE stock SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity - quantity < 10 THEN 91 ELSE 0 END,
            s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (supply <> w)
            WHERE s_w_id = supply AND s_i_id = item;
        SELECT CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END INTO info FROM stock WHERE s_w_id = supply AND s_i_id = item;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                ol_dist_info)
            VALUES (w, d, number, line, item, supply, quantity, price * quantity, info);
        SET total = total + price * quantity, line = line + 1;
    END WHILE;
    COMMIT;
    SELECT (total * (10000 - discount) * (10000 + warehouse_tax + district_tax) + 50000000) DIV 100000000 AS total;
END;

CREATE OR REPLACE PROCEDURE oe_payment(
    w INT, d INT, c_w INT, c_d INT, c INT, name VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, cents INT
) MODIFIES SQL DATA
BEGIN
    DECLARE names, of_district VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE balance BIGINT;
    DECLARE EXIT HANDLER FOR NOT FOUND SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row of a payment is missing';
    UPDATE warehouse SET w_ytd = w_ytd + cents WHERE w_id = w;
    SELECT w_name INTO names FROM warehouse WHERE w_id = w;
    UPDATE district SET d_ytd = d_ytd + cents WHERE d_w_id = w AND d_id = d;
    SELECT d_name INTO of_district FROM district WHERE d_w_id = w AND d_id = d;
    IF c IS NULL THEN
        CALL oe_customer(c_w, c_d, name, c);
    END IF;
    UPDATE customer SET c_balance = c_balance - cents, c_ytd_payment = c_ytd_payment + cents,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
            THEN LEFT(CONCAT(CONCAT_WS(' ', c, c_d, c_w, d, w, cents), ' ', c_data), 500) ELSE c_data END
        WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = c;
    SELECT c_balance INTO balance FROM customer WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = c;
    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
        VALUES (c_w, c_d, c, w, d, UNIX_TIMESTAMP(), cents, CONCAT(names, '    ', of_district));
    COMMIT;
    SELECT balance;
END;

CREATE OR REPLACE PROCEDURE oe_order_status(
    w INT, d INT, c INT, name VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
) READS SQL DATA
BEGIN
    DECLARE balance BIGINT;
    DECLARE number INT;
    DECLARE EXIT HANDLER FOR NOT FOUND SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row of an order is missing';
    IF c IS NULL THEN
        CALL oe_customer(w, d, name, c);
    END IF;
    SELECT c_balance INTO balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    SELECT o_id INTO number FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = c ORDER BY o_id DESC LIMIT 1;
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = number;
    COMMIT;
END;

CREATE OR REPLACE PROCEDURE oe_delivery(w INT, carrier INT) MODIFIES SQL DATA
BEGIN
    DECLARE d INT DEFAULT 1;
    DECLARE delivered INT DEFAULT 0;
    DECLARE number, customer_id INT;
    DECLARE cents BIGINT;
    DECLARE EXIT HANDLER FOR NOT FOUND SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row of an order is missing';
    WHILE d <= 10 DO
        SET number = NULL;
        BEGIN
            DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
            SELECT no_o_id INTO number FROM new_order WHERE no_w_id = w AND no_d_id = d
                ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        END;
        IF number IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = number;
            UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = number;
            SELECT o_c_id INTO customer_id FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = number;
            UPDATE order_line SET ol_delivery_d = UNIX_TIMESTAMP()
                WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = number;
            SELECT COALESCE(SUM(ol_amount), 0) INTO cents FROM order_line
                WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = number;
            UPDATE customer SET c_balance = c_balance + cents, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = w AND c_d_id = d AND c_id = customer_id;
            IF ROW_COUNT() = 0 THEN
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no customer of an order';
            END IF;
            SET delivered = delivered + 1;
        END IF;
        SET d = d + 1;
    END WHILE;
    COMMIT;
    SELECT delivered;
END;

CREATE OR REPLACE PROCEDURE oe_stock_level(w INT, d INT, threshold INT) READS SQL DATA
BEGIN
    DECLARE next_number INT;
    DECLARE EXIT HANDLER FOR NOT FOUND SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no district';
    SELECT d_next_o_id INTO next_number FROM district WHERE d_w_id = w AND d_id = d;
    SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id BETWEEN next_number - 20 AND next_number - 1 AND s_quantity < threshold;
    COMMIT;
END
