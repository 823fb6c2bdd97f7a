// Private endpoints of the storage account and the vault, and the DNS zones through which the app
// finds them.

@description('Start of the names of the endpoints.')
param name string

@description('Region of the subnet.')
param location string

@description('Tags.')
param tags object

@description('Id of the subnet for the endpoints. Its virtual network is the one of the app.')
param subnetId string

@description('Resource id of the storage account.')
param accountId string

@description('Resource id of the vault.')
param vaultId string

// .../virtualNetworks/NAME/subnets/NAME
var networkId = split(subnetId, '/subnets/')[0]

// https://learn.microsoft.com/azure/private-link/private-endpoint-dns
var storageSuffix = environment().suffixes.storage
var endpoints = [
  {
    group: 'blob'
    target: accountId
    zone: 'privatelink.blob.${storageSuffix}'
  }
  {
    group: 'queue'
    target: accountId
    zone: 'privatelink.queue.${storageSuffix}'
  }
  {
    group: 'table'
    target: accountId
    zone: 'privatelink.table.${storageSuffix}'
  }
  {
    group: 'vault'
    target: vaultId
    zone: 'privatelink.vaultcore.azure.net'
  }
]

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for one in endpoints: {
    name: one.zone
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (one, i) in endpoints: {
    parent: zones[i]
    name: name
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: networkId
      }
    }
  }
]

resource entrances 'Microsoft.Network/privateEndpoints@2024-05-01' = [
  for one in endpoints: {
    name: '${name}-${one.group}'
    location: location
    tags: tags
    properties: {
      subnet: {
        id: subnetId
      }
      privateLinkServiceConnections: [
        {
          name: one.group
          properties: {
            privateLinkServiceId: one.target
            groupIds: [
              one.group
            ]
          }
        }
      ]
    }
  }
]

resource records 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-05-01' = [
  for (one, i) in endpoints: {
    parent: entrances[i]
    name: 'default'
    dependsOn: [
      links[i]
    ]
    properties: {
      privateDnsZoneConfigs: [
        {
          name: one.group
          properties: {
            privateDnsZoneId: zones[i].id
          }
        }
      ]
    }
  }
]
