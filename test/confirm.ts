/** Says for a person that a workspace's trust.yaml counts, as `cleared trust --accept-trust` does: most tests are about something else. */
import { keepConfirmation, lookAtTrust } from "../runtime/workspace/settings/confirmation.ts";

export function confirm(dir: string): void {
  keepConfirmation(dir, lookAtTrust(dir));
}
