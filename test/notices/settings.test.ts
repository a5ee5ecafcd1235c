/** Settings of notices and webhooks: a mistake is told at its line, and no secret stands in a file. */
import { expect, test } from "vitest";
import { parseConfig, parseTrust } from "../../runtime/workspace/settings/config.ts";

test.each<[string, RegExp]>([
  ['notices: {smtp: {host: m, from: a@b.c, user: u, password: "hunter2"}}', /trust\.yaml:1.*write secret:NAME/],
  ["notices: {smtp: {host: m, from: a@b.c, user: u}}", /user and password, or neither/],
  ["notices: {smtp: {host: m, from: Acme}}", /one mail address/],
  ['notices: {webhooks: {ops: {url: "http://chat.example.com/x", secret: "secret:a"}}}', /write https; http only to this machine/],
  ['notices: {webhooks: {ops: {url: "http://localhost.example.com/x", secret: "secret:a"}}}', /write https/],
  ['notices: {webhooks: {ops: {url: "file:///etc/passwd", secret: "secret:a"}}}', /http\(s\) address/],
  ['notices: {webhooks: {page: {url: "https://a.b", secret: "secret:a"}}}', /smtp and page are names of their own/],
  ["notices: {webhook: {}}", /Did you mean "webhooks"/],
  ["webhooks: {shop: {secret: abc}}", /write secret:NAME/],
])("%s is refused", (text, words) => {
  expect(() => parseTrust(text)).toThrow(words);
});

test.each<[string, RegExp]>([
  ['{quiet_hours: {from: "20:00", to: "20:00"}}', /the same minute/],
  ['{quiet_hours: {from: "8pm", to: "08:00"}}', /time of day/],
  ["{quiet_hours: {from: 20:00, to: 24:00}}", /time of day/],
  ['{quiet_hours: {from: "20:00", to: "08:00", timezone: Mars/Olympus}}', /no such time zone/],
  ["{quiet: {}}", /Did you mean "quiet_hours"/],
])("notify: %s is refused", (text, words) => {
  expect(() => parseConfig(`business: {name: A}\nnotify: ${text}\n`)).toThrow(words);
});

test("a channel's settings are read as written", () => {
  const { notices } = parseTrust(
    'notices: {smtp: {host: m, from: a@b.c}, webhooks: {ops: {url: "http://127.0.0.1:9/x", secret: "secret:ops_hook"}}}',
  );
  expect(notices).toEqual({
    smtp: { host: "m", port: 587, from: "a@b.c" },
    webhooks: { ops: { url: "http://127.0.0.1:9/x", secret: "secret:ops_hook" } },
  });
});
