// Texts of this feature for the reference in docs/.
export const subscriptionEvents = {
  subscription_changed:
    'A subscription was `changed`, `paused`, `resumed`, or its `secret_rotated` (`what`). `by` says who did it.',
  subscription_consented: 'The endpoint of a subscription has consented to get messages.',
  subscription_created: 'An owner, or a token with `manage`, made a subscription. `by` says who.',
  subscription_deleted: 'A subscription was deleted. `by` says who did it.',
  subscription_disabled:
    'The relay disabled a subscription, because its endpoint failed. `reason` says how.',
  subscription_failed:
    'The state of a subscription could not be stored after an attempt. The relay tries again after the next one.',
}

export const subscriptionCodes = {
  address_refused: {
    status: '422',
    about: 'The relay must not send to this address. The detail says why.',
  },
  idempotency_key_malformed: {
    status: '400',
    about: '`Idempotency-Key` needs 1 to 255 visible ASCII characters.',
  },
  idempotency_key_reused: {
    status: '422',
    about: 'An earlier request with this `Idempotency-Key` had another body.',
  },
  delivery_unknown: { status: '404', about: 'The subscription has no such delivery.' },
  subscription_malformed: {
    status: '400',
    about: 'The detail lists what is wrong with the subscription.',
  },
  subscription_not_active: {
    status: '409',
    about: 'The subscription must be active, or for a test not disabled.',
  },
  subscription_unknown: { status: '404', about: 'There is no such subscription.' },
  too_many_subscriptions: {
    status: '409',
    about: 'There are 200 subscriptions, or 50 for the fleets of their maker.',
  },
}
