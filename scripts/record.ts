/*
name: Record
description: The one record a process is about; ends the run with a plain word when it is not there
input:
  tool: {type: string, required: true}
  params: {type: object, required: true}
*/
const { tool, params } = input;
const found = mcp_call({ tool, params });
if (found.found === false) throw new Error(`${tool} knows no ${Object.values(params).join(", ")}. Look at the input.`);
found;
