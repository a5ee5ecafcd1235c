/*
expect: {status: done, result: ["2026-11-06", "COFFEE", "Grüße 👩‍💻"]}
*/
const m = /(?<day>\d{2})\.(?<month>\d{2})\.(?<year>\d{4})/.exec("06.11.2026");
[`${m?.groups?.year}-${m?.groups?.month}-${m?.groups?.day}`, "  coffee ".trim().toUpperCase(), echo("Grüße 👩‍💻")]
