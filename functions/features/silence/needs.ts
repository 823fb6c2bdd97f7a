// The feature `problems` tells owners what is noted.
export { noteProblems, readOpenProblems } from '../problems/use.ts'
