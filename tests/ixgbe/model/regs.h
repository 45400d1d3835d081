// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Registers of the 82599, with the names of Intel's 82599 10 GbE Controller Datasheet (331520), chapter 8. Comments
// cite the datasheets of the X540 and X550 (515486, 333464) for differences. Offsets are in bytes from the start of BAR
// 0.

// 8.2.3.1 General control
#define CTRL 0x00000u
#define CTRL_MASTER_DISABLE 0x00000004u
#define CTRL_RESETS 0x04000008u // LRST and RST: self-clearing
#define STATUS 0x00008u
#define STATUS_MASTER_ENABLE 0x00080000u
#define STATUS_LAN_ID_SHIFT 2
#define ESDP 0x00020u
#define I2CCTL 0x00028u

// 8.2.3.2 EEPROM and semaphores; 8.2.3.4 host interface
#define EEC 0x10010u
#define EEC_CLOCK 0x00000001u
#define EEC_DESELECT 0x00000002u
#define EEC_TO_CHIP 0x00000004u
#define EEC_FROM_CHIP 0x00000008u
#define EEC_REQUEST 0x00000040u
#define EEC_GRANT 0x00000080u
#define EEC_PRESENT 0x00000100u
#define EEC_LONG_ADDRESSES 0x00000400u
#define EEC_AUTO_READ_DONE 0x00000200u
#define EEC_SIZE_SHIFT 11
#define EERD 0x10014u
#define EERD_START 0x1u
#define EERD_DONE 0x2u
#define EEMNGCTL 0x10110u
#define EEMNGCTL_CFG_DONE 0x000C0000u // of both ports
#define SWSM 0x10140u
#define FWSM 0x10148u
#define SW_FW_SYNC 0x10160u
#define HICR 0x15F00u
#define HICR_ENABLE 0x1u
#define HICR_COMMAND 0x2u
#define HICR_STATUS_VALID 0x4u
#define FLEX_MNG 0x15800u

// 8.2.3.5 Interrupts
#define EICR 0x00800u
#define EICS 0x00808u
#define EIAC 0x00810u
#define EIMS 0x00880u
#define EIMC 0x00888u
#define EICR_LSC 0x00100000u

// 8.2.3.7 Receive: filters of layer 2
#define RXCSUM 0x05000u
#define RXCSUM_PCSD 0x2000u
#define FCTRL 0x05080u
#define FCTRL_MPE 0x100u
#define FCTRL_UPE 0x200u
#define FCTRL_BAM 0x400u
#define VLNCTRL 0x05088u
#define VLNCTRL_VFE 0x40000000u
#define MCSTCTRL 0x05090u
#define MCSTCTRL_MFE 0x4u
#define MTA(n) (0x05200u + 4 * (n))
#define RAL(n) (0x0A200u + 8 * (n))
#define RAH(n) (0x0A204u + 8 * (n))
#define RAH_VALID 0x80000000u
#define RAR_COUNT 128
#define VFTA(n) (0x0A000u + 4 * (n))
#define MRQC 0x05818u
#define RETA(n) (0x05C00u + 4 * (n))
#define ERETA(n) (0x0EE80u + 4 * (n)) // X550
#define RSSRK(n) (0x05C80u + 4 * (n))

// 8.2.3.7 Receive: filters that select a queue
#define ETQF(n) (0x05128u + 4 * (n))
#define ETQF_ENABLE 0x80000000u
#define ETQF_1588 0x40000000u
#define ETQS(n) (0x0EC00u + 4 * (n))
#define ETQS_ENABLE 0x80000000u
#define SYNQF 0x0EC30u
#define SAQF(n) (0x0E000u + 4 * (n))
#define DAQF(n) (0x0E200u + 4 * (n))
#define SDPQF(n) (0x0E400u + 4 * (n))
#define FTQF(n) (0x0E600u + 4 * (n))
#define L34TIMIR(n) (0x0E800u + 4 * (n))
#define FDIRCTRL 0x0EE00u
#define FDIRCTRL_INIT_DONE 0x8u
#define FDIRCTRL_PERFECT 0x10u
#define FDIRCTRL_REPORT 0x20u // Report-Status
#define FDIRIPSA 0x0EE18u
#define FDIRIPDA 0x0EE1Cu
#define FDIRPORT 0x0EE20u
#define FDIRVLAN 0x0EE24u
#define FDIRHASH 0x0EE28u
#define FDIRCMD 0x0EE2Cu
#define FDIRFREE 0x0EE38u
#define FDIRDIP4M 0x0EE3Cu
#define FDIRSIP4M 0x0EE40u
#define FDIRTCPM 0x0EE44u
#define FDIRUDPM 0x0EE48u
#define FDIRMATCH 0x0EE58u
#define FDIRMISS 0x0EE5Cu
#define FDIRM 0x0EE70u

// 8.2.3.8 Receive DMA; the offsets of a queue are from rx_reg()
#define RDBAL 0x00u
#define RDBAH 0x04u
#define RDLEN 0x08u
#define DCA_RXCTRL 0x0Cu
#define RDH 0x10u
#define SRRCTL 0x14u
#define SRRCTL_DROP_EN 0x10000000u
#define RDT 0x18u
#define RXDCTL 0x28u
#define QUEUE_ENABLE 0x02000000u // RXDCTL, TXDCTL
#define RDRXCTL 0x02F00u
#define RDRXCTL_CRCSTRIP 0x2u
#define RDRXCTL_DMAIDONE 0x8u
#define RXCTRL 0x03000u
#define RXCTRL_RXEN 0x1u
#define RXPBSIZE(n) (0x03C00u + 4 * (n))

// 8.2.3.9 Transmit; the offsets of a queue are from tx_reg()
#define TDBAL 0x00u
#define TDBAH 0x04u
#define TDLEN 0x08u
#define TDH 0x10u
#define TDT 0x18u
#define TXDCTL 0x28u
#define DMATXCTL 0x04A80u
#define DMATXCTL_TE 0x1u

// 8.2.3.12 Security
#define SECTXCTRL 0x08800u
#define SECTXSTAT 0x08804u
#define SECRXCTRL 0x08D00u
#define SECRXSTAT 0x08D04u
#define SEC_DISABLE 0x2u
#define SEC_READY 0x1u

// 8.2.3.22 MAC
#define HLREG0 0x04240u
#define HLREG0_RXCRCSTRP 0x2u
#define HLREG0_JUMBOEN 0x4u
#define HLREG0_TXPADEN 0x400u
#define HLREG0_LPBK 0x8000u
#define MSCA 0x0425Cu
#define MSRWD 0x04260u
#define MAXFRS 0x04268u
#define AUTOC 0x042A0u
#define LINKS 0x042A4u
#define AUTOC2 0x042A8u
#define ANLP1 0x042B0u

// 8.2.3.23 Statistics
#define MPC(n) (0x03FA0u + 4 * (n))
#define QPRC(n) (0x01030u + 0x40 * (n))
#define QBRC_L(n) (0x01034u + 0x40 * (n))
#define QBRC_H(n) (0x01038u + 0x40 * (n))
#define QPRDC(n) (0x01430u + 0x40 * (n))
#define QPTC(n) (0x06030u + 0x40 * (n))
#define QBTC_L(n) (0x08700u + 8 * (n))
#define QBTC_H(n) (0x08704u + 8 * (n))
#define RQSMR(n) (0x02300u + 4 * (n))
#define TQSM(n) (0x08600u + 4 * (n))
#define CRCERRS 0x04000u
#define RLEC 0x04040u
#define PRC64 0x0405Cu
#define GPRC 0x04074u
#define BPRC 0x04078u
#define MPRC 0x0407Cu
#define GPTC 0x04080u
#define GORCL 0x04088u
#define GORCH 0x0408Cu
#define GOTCL 0x04090u
#define GOTCH 0x04094u
#define RUC 0x040A4u
#define ROC 0x040ACu
#define TORL 0x040C0u
#define TORH 0x040C4u
#define TPR 0x040D0u
#define TPT 0x040D4u
#define PTC64 0x040D8u
#define MPTC 0x040F0u
#define BPTC 0x040F4u
#define XEC 0x04120u

// 8.2.3.26 Time sync
#define RXMTRL 0x05120u
#define TSYNCRXCTL 0x05188u
#define RXSTMPH 0x051A4u
#define RXSTMPL 0x051E8u
#define TSYNCTXCTL 0x08C00u
#define TXSTMPL 0x08C04u
#define TXSTMPH 0x08C08u
#define SYSTIML 0x08C0Cu
#define SYSTIMH 0x08C10u
#define TIMINCA 0x08C14u
#define SYSTIMR 0x08C58u // X550
#define TSYNC_VALID 0x1u
#define TSYNC_ENABLED 0x10u
