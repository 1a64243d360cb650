-- The transactions of orders and prices as functions, each a transaction of its own. They do what the statements do, in the same order.
-- A planned rollback has the state BR001; a missing row is no_data_found.

CREATE OR REPLACE FUNCTION br_place_order(
    account integer, customer integer, by_company integer, wanted integer, kind integer, quantity integer,
    price_limit integer, lifo integer, rolled_back integer, date bigint
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    owner integer;
    tier integer;
    security integer;
    price integer;
    fee integer;
    rate integer;
    trade integer;
    first_status integer := CASE WHEN kind > 2 THEN 1 ELSE 2 END;
BEGIN
    UPDATE accounts SET a_open = a_open + 1 WHERE a_id = account;
    SELECT a_customer, u_tier INTO STRICT owner, tier FROM accounts JOIN customers ON u_id = a_customer
        JOIN brokers ON b_id = a_broker WHERE a_id = account;
    IF by_company = 1 THEN
        SELECT s_id, l_price INTO STRICT security, price FROM securities JOIN companies ON co_id = s_company
            JOIN last_prices ON l_security = s_id WHERE s_company = wanted ORDER BY s_id LIMIT 1;
    ELSE
        SELECT s_id, l_price INTO STRICT security, price FROM securities JOIN companies ON co_id = s_company
            JOIN last_prices ON l_security = s_id WHERE s_id = wanted;
    END IF;
    IF owner <> customer OR security <> wanted THEN
        RAISE no_data_found USING MESSAGE = 'no account of a customer, or security of a company';
    END IF;
    SELECT f_cents, r_rate INTO STRICT fee, rate FROM charges JOIN rates ON r_kind = f_kind AND r_tier = f_tier
        WHERE f_kind = kind AND f_tier = tier AND r_from <= quantity * CASE WHEN kind > 2 THEN price_limit ELSE price END
        ORDER BY r_from DESC LIMIT 1;
    IF rolled_back = 1 THEN
        RAISE SQLSTATE 'BR001' USING MESSAGE = 'a planned rollback';
    END IF;
    INSERT INTO trades (t_account, t_security, t_kind, t_status, t_quantity, t_limit, t_lifo, t_fee, t_rate, t_price,
            t_commission, t_tax, t_date, t_done)
        VALUES (account, security, kind, first_status, quantity, price_limit, lifo, fee, rate, 0, 0, 0, date, 0)
        RETURNING t_id INTO trade;
    INSERT INTO trade_events (e_trade, e_number, e_status, e_date) VALUES (trade, 1, first_status, date);
    IF kind > 2 THEN
        INSERT INTO pending_orders (p_trade, p_security, p_above, p_limit)
            VALUES (trade, security, CASE WHEN kind = 4 THEN 1 ELSE 0 END, price_limit);
    END IF;
    RETURN trade;
END $$;

-- Returns the commission, or -1 for an order that is completed.
CREATE OR REPLACE FUNCTION br_complete_order(trade integer, date bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    placed trades%ROWTYPE;
    broker integer;
    taxed integer;
    price integer;
    direction integer;
    remaining integer;
    taken integer;
    gain bigint := 0;
    commission integer;
    tax integer := 0;
    amount integer;
    lot record;
BEGIN
    UPDATE trades SET t_status = 3, t_done = date WHERE t_id = trade AND t_status = 2 RETURNING * INTO placed;
    IF NOT FOUND THEN
        RETURN -1;
    END IF;
    direction := CASE WHEN placed.t_kind IN (1, 3) THEN 1 ELSE -1 END;
    UPDATE accounts SET a_open = a_open - 1 WHERE a_id = placed.t_account
        RETURNING a_broker, a_taxed INTO STRICT broker, taxed;
    SELECT l_price INTO STRICT price FROM last_prices WHERE l_security = placed.t_security;
    remaining := placed.t_quantity;
    FOR lot IN SELECT h_trade, h_quantity, h_price FROM lots
        WHERE h_account = placed.t_account AND h_security = placed.t_security AND h_quantity * direction < 0
        ORDER BY h_trade * CASE WHEN placed.t_lifo = 1 THEN -1 ELSE 1 END
    LOOP
        EXIT WHEN remaining = 0;
        taken := least(remaining, abs(lot.h_quantity));
        IF taken = abs(lot.h_quantity) THEN
            DELETE FROM lots WHERE h_trade = lot.h_trade;
        ELSE
            UPDATE lots SET h_quantity = h_quantity + direction * taken WHERE h_trade = lot.h_trade;
        END IF;
        gain := gain + direction * (lot.h_price - price) * taken;
        remaining := remaining - taken;
    END LOOP;
    IF remaining > 0 THEN
        INSERT INTO lots (h_trade, h_account, h_security, h_quantity, h_price)
            VALUES (trade, placed.t_account, placed.t_security, direction * remaining, price);
    END IF;
    UPDATE positions SET o_quantity = o_quantity + direction * placed.t_quantity
        WHERE o_account = placed.t_account AND o_security = placed.t_security;
    IF NOT FOUND THEN
        INSERT INTO positions (o_account, o_security, o_quantity)
            VALUES (placed.t_account, placed.t_security, direction * placed.t_quantity);
    END IF;
    commission := price * placed.t_quantity * placed.t_rate / 10000;
    IF taxed = 1 AND gain > 0 THEN
        tax := gain / 10;
    END IF;
    UPDATE trades SET t_price = price, t_commission = commission, t_tax = tax WHERE t_id = trade;
    INSERT INTO trade_events (e_trade, e_number, e_status, e_date)
        VALUES (trade, CASE WHEN placed.t_kind > 2 THEN 3 ELSE 2 END, 3, date);
    amount := -direction * price * placed.t_quantity - placed.t_fee - commission - tax;
    INSERT INTO settlements (m_trade, m_amount, m_due, m_changes, m_text) VALUES (trade, amount, date + 20, 0, 'by wire');
    INSERT INTO cash_entries (c_trade, c_account, c_amount, c_date) VALUES (trade, placed.t_account, amount, date);
    UPDATE accounts SET a_balance = a_balance + amount WHERE a_id = placed.t_account;
    UPDATE brokers SET b_trades = b_trades + 1, b_commission = b_commission + commission WHERE b_id = broker;
    RETURN commission;
END $$;

-- Returns the orders that the prices send to the market.
CREATE OR REPLACE FUNCTION br_market_feed(ticked integer[], prices integer[], date bigint)
RETURNS SETOF integer LANGUAGE plpgsql AS $$
DECLARE
    crossed integer;
BEGIN
    FOR tick IN 1 .. cardinality(ticked) LOOP
        UPDATE last_prices SET l_price = prices[tick], l_ticks = l_ticks + 1, l_date = date
            WHERE l_security = ticked[tick];
        IF NOT FOUND THEN
            RAISE no_data_found USING MESSAGE = 'no price of a security';
        END IF;
        FOR crossed IN SELECT p_trade FROM pending_orders WHERE p_security = ticked[tick]
            AND (p_above = 1 AND p_limit <= prices[tick] OR p_above = 0 AND p_limit >= prices[tick]) ORDER BY p_trade
        LOOP
            DELETE FROM pending_orders WHERE p_trade = crossed;
            UPDATE trades SET t_status = 2 WHERE t_id = crossed AND t_status = 1;
            INSERT INTO trade_events (e_trade, e_number, e_status, e_date) VALUES (crossed, 2, 2, date);
            RETURN NEXT crossed;
        END LOOP;
    END LOOP;
END $$;
