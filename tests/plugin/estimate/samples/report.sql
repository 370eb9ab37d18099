WITH monthly AS (
    SELECT
        date_trunc('month', o.created_at) AS month,
        c.region,
        SUM(oi.quantity * oi.unit_price) AS revenue,
        COUNT(DISTINCT o.customer_id) AS customers
    FROM orders AS o
    INNER JOIN order_items AS oi ON oi.order_id = o.id
    INNER JOIN customers AS c ON c.id = o.customer_id
    WHERE o.status IN ('paid', 'shipped') AND o.created_at >= DATE '2025-01-01'
    GROUP BY 1, 2
)

SELECT
    month,
    region,
    revenue,
    customers,
    revenue - LAG(revenue) OVER (PARTITION BY region ORDER BY month) AS change,
    ROUND(100.0 * revenue / SUM(revenue) OVER (PARTITION BY month), 1) AS share
FROM monthly
ORDER BY month, share DESC;
