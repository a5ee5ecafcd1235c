/*
name: Feature names
description: Features with what they store, as one text
input: {features: {type: list, required: true}}
*/
input.features.map((one: any) => `${one.feature} (${one.stored_gb} GB)`).join(", ") || "none";
