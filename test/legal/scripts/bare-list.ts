/*
expect: {status: done, result: [{id: 1}, {id: 2}]}
*/
echo([{ id: 1 }, { id: 2 }])
