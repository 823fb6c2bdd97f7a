<#
.SYNOPSIS
Installs the Foghorn beacon as a Windows service, or upgrades it. Run it as an administrator.

.DESCRIPTION
Programs go to %ProgramFiles%\Foghorn; settings, state and logs to %ProgramData%\Foghorn. Only
administrators and the service can read the settings. An upgrade keeps them.

.PARAMETER RelayUrl
The address of the relay. With -Fleet and -Audience it replaces beacon.env, so that the service can
start at once. To use the key of the fleet, leave all three out and write beacon.env yourself: other
users can see the parameters of a command.

.PARAMETER Settings
The content of beacon.env in base64, in place of the other three.

.PARAMETER WithHooks
Runs the programs prepare and restore of %ProgramFiles%\Foghorn\hooks. Beacon and hooks then run as
the local system.

.EXAMPLE
.\install.ps1 -RelayUrl https://foghorn.example.com -Fleet prod -Audience api://foghorn
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding(DefaultParameterSetName = 'Keep')]
param(
  [Parameter(ParameterSetName = 'Write', Mandatory)] [string] $RelayUrl,
  [Parameter(ParameterSetName = 'Write', Mandatory)] [string] $Fleet,
  [Parameter(ParameterSetName = 'Write', Mandatory)] [string] $Audience,
  [Parameter(ParameterSetName = 'Copy', Mandatory)] [string] $Settings,
  [switch] $WithHooks
)
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$service = 'foghorn-beacon'
$programs = Join-Path $env:ProgramFiles 'Foghorn'
$data = Join-Path $env:ProgramData 'Foghorn'
$settingsFile = Join-Path $data 'beacon.env'
# by its number: its name differs between languages
$administrators = '*S-1-5-32-544'
$system = 'S-1-5-18'
$account = if ($WithHooks) { 'LocalSystem' } else { "NT SERVICE\$service" }

function Invoke-Program([string] $Path, [string[]] $Words) {
  $output = & $Path $Words
  if ($LASTEXITCODE -ne 0) { throw "$Path $Words failed with code ${LASTEXITCODE}: $output" }
}

function Protect-Data {
  Invoke-Program icacls.exe @($data, '/setowner', $administrators, '/q')
  $acl = New-Object System.Security.AccessControl.DirectorySecurity
  # protected; full access for administrators and the system, and what they make in it
  $acl.SetSecurityDescriptorSddlForm('D:P(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)', 'Access')
  Set-Acl -Path $data -AclObject $acl
}

# Users may create folders in %ProgramData%: one that is not the administrators' own may be a trap.
if (-not (Test-Path $data)) {
  # without -Force it fails if a user makes the folder now
  New-Item -ItemType Directory -Path $data | Out-Null
  Protect-Data
  if (Get-ChildItem -Force $data) {
    throw "Somebody else wrote into $data. Look at what is in it, remove it, and run this again."
  }
}
$owner = (Get-Acl $data).GetOwner([Security.Principal.SecurityIdentifier]).Value
$isLink = (Get-Item -Force $data).Attributes -band [IO.FileAttributes]::ReparsePoint
if ($isLink -or $owner -notin $administrators.Substring(1), $system) {
  throw "The administrators do not own $data. Look at what is in it, remove it, and run this again."
}

if (Get-Service -Name $service -ErrorAction SilentlyContinue) {
  & (Join-Path $PSScriptRoot 'stop.ps1') upgrade
}

New-Item -ItemType Directory -Force -Path $programs, (Join-Path $programs 'hooks') | Out-Null
foreach ($name in 'foghorn-beacon.exe', 'foghorn-service.exe', 'stop.ps1', 'uninstall.ps1',
  'LICENSE.txt') {
  # the service may need a moment to end
  for ($try = 1; $true; $try++) {
    try { Copy-Item -Force (Join-Path $PSScriptRoot $name) $programs; break }
    catch { if ($try -eq 20) { throw } else { Start-Sleep -Milliseconds 500 } }
  }
}

$command = "`"$programs\foghorn-service.exe`""
if ($WithHooks) { $command += ' --with-hooks' }
$installed = Get-CimInstance Win32_Service -Filter "Name='$service'"
if ($installed) {
  $change = Invoke-CimMethod $installed -MethodName Change -Arguments @{ PathName = $command }
  if ($change.ReturnValue -ne 0) { throw "The service cannot be changed: $($change.ReturnValue)" }
} else {
  New-Service -Name $service -DisplayName 'Foghorn beacon' -StartupType Automatic `
    -Description 'Reports Azure Scheduled Events of this VM to Foghorn' `
    -BinaryPathName $command | Out-Null
}
Invoke-Program sc.exe @('config', $service, 'obj=', $account)
# The service restarts a beacon that ended; this restarts the service itself.
Invoke-Program sc.exe @('failure', $service, 'reset=', '86400', 'actions=', 'restart/2000')

Protect-Data
foreach ($name in 'state', 'logs') {
  $folder = Join-Path $data $name
  New-Item -ItemType Directory -Force -Path $folder | Out-Null
  # the service's account can replace the content of its folders, and could have made this one a link
  if ((Get-Item -Force $folder).Attributes -band [IO.FileAttributes]::ReparsePoint) {
    throw "$folder is a link. Remove it, and run this again."
  }
  Invoke-Program icacls.exe @($folder, '/grant', "NT SERVICE\${service}:(OI)(CI)M", '/q', '/l')
}

if ($RelayUrl) {
  $lines = "FOGHORN_RELAY_URL=$RelayUrl", "FOGHORN_FLEET=$Fleet", "FOGHORN_AUDIENCE=$Audience", ''
  [IO.File]::WriteAllText($settingsFile, $lines -join "`r`n")
} elseif ($Settings) {
  [IO.File]::WriteAllBytes($settingsFile, [Convert]::FromBase64String($Settings))
} elseif (-not (Test-Path $settingsFile)) {
  Copy-Item (Join-Path $PSScriptRoot 'beacon.env') $settingsFile
}
Invoke-Program icacls.exe @($settingsFile, '/grant', "NT SERVICE\${service}:R", '/q')

if (Select-String -Path $settingsFile -Pattern '^\s*FOGHORN_RELAY_URL=.' -Quiet) {
  Start-Service -Name $service
  Write-Output "The Foghorn beacon runs. Its log is $data\logs\beacon.log"
} else {
  Write-Output "Write the settings into $settingsFile, then run: Start-Service $service"
}
