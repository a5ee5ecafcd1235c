/*
name: Pay
uses: [compute]
*/
compute_overtime_split({ hours: ["10.4"], rate: "28.00" });
