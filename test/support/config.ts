// Configurations for tests: the base one with one value changed, and what is wrong with one.
import { expect } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { baseConfig } from './world.ts'

type Json = ReturnType<typeof JSON.parse>

/** The base configuration with the value at a path replaced, or removed where there is none. */
export function withValue(path: string, value?: unknown): Json {
  const config: Json = structuredClone(baseConfig)
  const keys = path.split('.')
  const last = keys.pop()!
  const parent = keys.reduce((part, key) => (part[key] ??= {}), config)
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return config
}

export function mistakesOf(text: string, environment: Record<string, string> = {}): string {
  try {
    readConfig(text, environment)
  } catch (error) {
    expect(error).toMatchObject({ name: 'FoghornError', code: 'config_invalid' })
    return (error as Error).message
  }
  throw new Error('this configuration was taken')
}
