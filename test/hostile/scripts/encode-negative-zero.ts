/*
expect: {status: done, result: [0, 0, 1e+21, 5e-324]}
*/
echo([-0, 0, 1e21, 5e-324])
