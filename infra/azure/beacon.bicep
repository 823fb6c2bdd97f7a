// Installs the beacon on VMs and scale sets of one resource group, by the Custom Script extension.
// docs/install-fleet.md says how to use it. The extension downloads the package with the managed
// identity of each VM, and the beacon authenticates with it: no secret is on the VM or in this
// deployment. Azure allows one Custom Script extension on a VM.
targetScope = 'resourceGroup'

@description('Region of the VMs and scale sets.')
param location string = resourceGroup().location

@description('Names of VMs, and of instances of flexible scale sets.')
@maxLength(800)
param vms array = []

@description('Names of scale sets. New instances get the beacon, too.')
@maxLength(800)
param scaleSets array = []

@description('Address of the blob container with the package. The identities need the role Storage Blob Data Reader on it.')
param container string

@description('File name of the package. Its ending must suit the system of all these VMs: .deb, .rpm or .zip (Windows).')
param package string

@description('SHA-256 of the package, from the file SHA256SUMS.')
@minLength(64)
@maxLength(64)
param sha256 string

@description('Address of the relay.')
param relayUrl string

@description('Name of the fleet in the configuration of the relay.')
param fleet string

@description('Audience of the tokens, as the relay has it in "entra" of the fleet.')
param audience string

@description('Client id of a user-assigned identity. Empty: the system-assigned one.')
param identityClientId string = ''

@description('More settings of the beacon, such as { HTTPS_PROXY: \'http://proxy.internal:3128\' }. beacon.env is written anew by each deployment.')
param moreSettings object = {}

@description('A new value makes the extension run again where nothing else has changed, for example after it failed.')
param runTag string = utcNow()

var isWindows = endsWith(package, '.zip')

// what a shell cannot misread
var moreLines = join(map(items(moreSettings), one => '${one.key}=${one.value}\n'), '')
var settings = base64('FOGHORN_RELAY_URL=${relayUrl}\nFOGHORN_FLEET=${fleet}\nFOGHORN_AUDIENCE=${audience}\nFOGHORN_IDENTITY_CLIENT_ID=${identityClientId}\n${moreLines}')

// the same version again restarts the beacon with the settings
var installDeb = 'apt-get install -y --reinstall -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold ./${package}'
var installRpm = 'rpm -U --replacepkgs ${package}'

var linuxCommand = join(
  [
    'echo ${sha256}  ${package} | sha256sum --check'
    'echo ${settings} | base64 --decode | install -D -m 0600 /dev/stdin /etc/foghorn/beacon.env'
    endsWith(package, '.rpm') ? installRpm : installDeb
    'systemctl enable --now foghorn-beacon'
  ],
  ' && '
)

var windowsSteps = join(
  [
    'if ((Get-FileHash ${package}).Hash -ne \'${sha256}\') { throw \'${package} has another SHA-256\' }'
    'Expand-Archive -Force ${package} .'
    '& .\\${replace(package, '.zip', '')}\\install.ps1 -Settings ${settings}'
  ],
  '; '
)
var windowsCommand = 'powershell -NoProfile -ExecutionPolicy Bypass -Command "${windowsSteps}"'

var extension = {
  publisher: isWindows ? 'Microsoft.Compute' : 'Microsoft.Azure.Extensions'
  type: isWindows ? 'CustomScriptExtension' : 'CustomScript'
  typeHandlerVersion: isWindows ? '1.10' : '2.1'
  autoUpgradeMinorVersion: true
  forceUpdateTag: runTag
  protectedSettings: {
    fileUris: ['${container}/${package}']
    commandToExecute: isWindows ? windowsCommand : linuxCommand
    managedIdentity: empty(identityClientId) ? {} : { clientId: identityClientId }
  }
}

resource machine 'Microsoft.Compute/virtualMachines@2024-11-01' existing = [
  for name in vms: {
    name: name
  }
]

resource onVm 'Microsoft.Compute/virtualMachines/extensions@2024-11-01' = [
  for (name, i) in vms: {
    parent: machine[i]
    name: 'foghorn-beacon'
    location: location
    properties: extension
  }
]

resource scaleSet 'Microsoft.Compute/virtualMachineScaleSets@2024-11-01' existing = [
  for name in scaleSets: {
    name: name
  }
]

resource onScaleSet 'Microsoft.Compute/virtualMachineScaleSets/extensions@2024-11-01' = [
  for (name, i) in scaleSets: {
    parent: scaleSet[i]
    name: 'foghorn-beacon'
    properties: extension
  }
]
