/*
expect: {status: done, result: "weekend"}
*/
const day: string = echo("sat");
switch (day) {
  case "sun":
  case "sat": "weekend";
  case "holiday":
    break;
  default: "work";
}
