/*
expect: {status: done, result: ["Äpfel", "apple", "Apple", "banana", "Zoo"]}
*/
["Zoo", "banana", "Äpfel", "Apple", "apple"].sort((a, b) => a.localeCompare(b))
