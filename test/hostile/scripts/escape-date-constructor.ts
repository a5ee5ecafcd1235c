/*
expect: {status: done, result: true}
*/
new Date(0).constructor.now() === Date.now()
