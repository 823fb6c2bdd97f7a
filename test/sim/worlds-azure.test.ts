import { worlds } from './worlds.ts'

worlds('azure')
