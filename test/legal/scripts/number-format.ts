/*
expect: {status: done, result: ["1,234,567.891", "1,234.50", "$1,234.50", "12%", "-1,000"]}
*/
[(1234567.891).toLocaleString(), (1234.5).toLocaleString("en-US", { minimumFractionDigits: 2 }), (1234.5).toLocaleString("en-US", { style: "currency", currency: "USD" }),
  (0.12).toLocaleString("en-US", { style: "percent" }), (-1000).toLocaleString()]
