// Texts of this feature for the reference in docs/.
export const problemEvents = {
  own_check_failed: 'The relay could not check itself (`kind`). It tries again.',
  problem_begun:
    'Something of Foghorn itself is wrong (`kind`): silent beacons, a fleet over its limits, a channel, the disk. If there are `owners`, their channels receive this too.',
  problem_over: 'The problems of an alert are over (`kind`), or some of them.',
}
