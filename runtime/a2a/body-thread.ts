/** The worker thread of body.ts: one large body, one answer. */
import { parentPort, workerData } from "node:worker_threads";
import { readAlone } from "./body.ts";

const { bytes, most } = workerData as { bytes: ArrayBuffer; most: number };
parentPort?.postMessage(readAlone(bytes, most));
