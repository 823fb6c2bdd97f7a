export const mutePaths = { mutes: '/mutes' }
